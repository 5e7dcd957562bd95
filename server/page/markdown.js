// The server's page: Markdown of models as elements. It only makes elements and
// text, never HTML, so whatever a model writes, nothing runs and nothing is
// loaded. It knows paragraphs, headings, lists, quotes, code, tables, emphasis
// and links; everything else stays text.

const MOST_DEPTH = 8;       // of quotes, lists and emphasis in each other
const MOST_INLINE = 20000;  // characters of a paragraph that are searched

// Returns the elements of a text.
function markdown(text, depth = 0) {
  const lines = text.replace(/\r\n?/g, '\n').split('\n');
  const made = [];
  let paragraph = [];
  const endParagraph = () => {
    if (paragraph.length) made.push(element('p', '', ...inlines(paragraph.join('\n'), depth)));
    paragraph = [];
  };
  for (let i = 0; i < lines.length;) {
    const line = lines[i];
    const fence = /^ {0,3}(`{3,}|~{3,})\s*([^`]*)$/.exec(line);
    const heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/.exec(line);
    const bullet = /^(\s*)([-*+]|\d{1,9}[.)])\s+/.exec(line);
    if (fence) {
      endParagraph();
      const code = [];
      for (++i; i < lines.length && !lines[i].trim().startsWith(fence[1]); ++i) code.push(lines[i]);
      ++i;
      const pre = element('pre', '', element('code', '', code.join('\n')));
      pre.tabIndex = 0;
      made.push(pre);
    } else if (heading) {
      endParagraph();
      made.push(element('h3', '', ...inlines(heading[2], depth)));
      ++i;
    } else if (/^ {0,3}([-*_])( *\1){2,} *$/.test(line)) {
      endParagraph();
      made.push(element('hr'));
      ++i;
    } else if (/^ {0,3}>/.test(line) && depth < MOST_DEPTH) {
      endParagraph();
      const quoted = [];
      for (; i < lines.length && /^ {0,3}>/.test(lines[i]); ++i) {
        quoted.push(lines[i].replace(/^ {0,3}> ?/, ''));
      }
      made.push(element('blockquote', '', ...markdown(quoted.join('\n'), depth + 1)));
    } else if (bullet && depth < MOST_DEPTH && (!paragraph.length || /^([-*+]|1[.)])$/.test(bullet[2]))) {
      endParagraph();
      i = addList(lines, i, depth, made);
    } else if (isTable(lines, i)) {
      endParagraph();
      i = addTable(lines, i, depth, made);
    } else {
      if (line.trim() === '') endParagraph();
      else paragraph.push(line.trim());
      ++i;
    }
  }
  endParagraph();
  return made;
}

// Adds the list that begins at a line, and returns the line behind it.
function addList(lines, i, depth, made) {
  const item = /^(\s*)([-*+]|\d{1,9}[.)])(\s+)(.*)$/;
  const [, indent, sign] = item.exec(lines[i]);
  const ordered = sign.length > 1;
  const list = element(ordered ? 'ol' : 'ul');
  if (ordered) list.start = parseInt(sign, 10);
  while (i < lines.length) {
    const begin = item.exec(lines[i]);
    if (!begin || begin[1].length > indent.length + 1 ||
        begin[1].length < indent.length || (begin[2].length > 1) !== ordered) {
      break;
    }
    const width = begin[1].length + begin[2].length + begin[3].length;
    const inner = [begin[4]];
    for (++i; i < lines.length; ++i) {
      const blank = lines[i].trim() === '';
      const deep = /^\s*/.exec(lines[i])[0].length > begin[1].length;
      const next = lines[i + 1] || '';
      if (blank && /^\s+\S/.test(next) && /^\s*/.exec(next)[0].length > begin[1].length) {
        inner.push('');
      } else if (!blank && deep) {
        inner.push(lines[i].slice(Math.min(width, /^\s*/.exec(lines[i])[0].length)));
      } else {
        break;
      }
    }
    const parts = markdown(inner.join('\n'), depth + 1);
    // An item of one paragraph has no paragraph around it.
    const tight = parts.length && parts[0].tagName === 'P' ?
        [...parts[0].childNodes, ...parts.slice(1)] : parts;
    list.append(element('li', '', ...tight));
    if (i < lines.length && lines[i].trim() === '' && item.test(lines[i + 1] || '')) ++i;
  }
  made.push(list);
  return i;
}

const cellsOf = (line) =>
    line.trim().replace(/^\|/, '').replace(/\|$/, '').split('|').map((cell) => cell.trim());
const isTable = (lines, i) => lines[i].includes('|') && i + 1 < lines.length &&
    lines[i + 1].includes('-') && lines[i + 1].includes('|') && lines[i + 1].length < 1000 &&
    cellsOf(lines[i + 1]).every((cell) => /^:?-+:?$/.test(cell));

function addTable(lines, i, depth, made) {
  const table = element('table');
  const row = (tag, line) => element('tr', '', ...cellsOf(line).map(
      (cell) => element(tag, '', ...inlines(cell, depth))));
  table.append(element('thead', '', row('th', lines[i])));
  const body = element('tbody');
  for (i += 2; i < lines.length && lines[i].includes('|'); ++i) body.append(row('td', lines[i]));
  table.append(body);
  made.push(element('div', 'scroll', table));
  return i;
}

// Returns a link, or its text alone if its address is not of the web.
function link(text, address) {
  let url;
  try {
    url = new URL(address);
  } catch {
    return element('span', '', ...text);
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return element('span', '', ...text);
  const made = element('a', '', ...text);
  made.href = url.href;
  made.target = '_blank';
  made.rel = 'noopener noreferrer';
  return made;
}

// Returns the text nodes and elements of a paragraph.
function inlines(text, depth = 0) {
  if (text.length > MOST_INLINE || depth > MOST_DEPTH) return [text];
  const made = [];
  const absent = new Set();  // signs that do not come again
  let plain = '';
  const add = (node) => {
    if (plain) made.push(plain);
    plain = '';
    made.push(node);
  };
  for (let i = 0; i < text.length;) {
    const rest = text[i];
    if (rest === '\\' && /[!-/:-@[-`{-~]/.test(text[i + 1] || '')) {
      plain += text[i + 1];
      i += 2;
      continue;
    }
    if (rest === '`') {
      const [sign] = /^`+/.exec(text.slice(i, i + 16));
      const end = absent.has(sign) ? -1 : text.indexOf(sign, i + sign.length);
      if (end > 0) {
        add(element('code', '', text.slice(i + sign.length, end).trim()));
        i = end + sign.length;
        continue;
      }
      absent.add(sign);
      plain += sign;
      i += sign.length;
      continue;
    }
    if (rest === '*' || rest === '_' || rest === '~') {
      const sign = text.startsWith(rest + rest, i) ? rest + rest : rest;
      const inside = text[i + sign.length] || ' ';
      const inWord = rest === '_' && /[\p{L}\p{N}]/u.test(text[i - 1] || ' ');
      const end = sign === '~' || /\s/.test(inside) || inWord || absent.has(sign) ?
          -1 : text.indexOf(sign, i + sign.length + 1);
      if (end > 0 && !/\s/.test(text[end - 1])) {
        const tag = rest === '~' ? 's' : sign.length === 2 ? 'strong' : 'em';
        add(element(tag, '', ...inlines(text.slice(i + sign.length, end), depth + 1)));
        i = end + sign.length;
        continue;
      }
      if (end < 0 && !inWord && !/\s/.test(inside)) absent.add(sign);
      plain += sign;
      i += sign.length;
      continue;
    }
    if (rest === '[') {
      const found = /^\[([^\][]{1,500})\]\(<?([^\s()<>]{1,2000})>?(?:\s+"[^"]{0,500}")?\)/.exec(
          text.slice(i, i + 3100));
      if (found) {
        add(link(inlines(found[1], depth + 1), found[2]));
        i += found[0].length;
        continue;
      }
    }
    if (rest === 'h' && /^https?:\/\//.test(text.slice(i, i + 8)) && !/\w/.test(text[i - 1] || ' ')) {
      const [address] = /^[^\s<>"]{1,2000}?(?=[.,;:!?)\]'*]*(?:[\s<>"]|$))/.exec(
          text.slice(i, i + 2001)) || [''];
      if (address.length > 8) {
        add(link([address], address));
        i += address.length;
        continue;
      }
    }
    if (rest === '\n') {
      add(element('br'));
      ++i;
      continue;
    }
    plain += rest;
    ++i;
  }
  if (plain) made.push(plain);
  return made;
}
