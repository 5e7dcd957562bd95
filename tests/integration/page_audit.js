// Returns what is wrong with the page that is shown, as a person would meet it: a
// list of sentences. Judges contrast by WCAG 2.2 (1.4.3, 1.4.11), names of
// controls (4.1.2), the size of targets (2.5.8) and overflow (1.4.10).
(() => {
  const wrong = [];
  const nameOf = (one) => one.tagName.toLowerCase() + (one.id ? '#' + one.id : '') +
      (one.classList.length ? '.' + [...one.classList].join('.') : '');

  // [r, g, b, a] with r, g and b of 0 to 1.
  const parse = (text) => {
    const numbers = text.match(/-?[\d.]+(e-?\d+)?/g).map(Number);
    if (text.startsWith('color(')) return [...numbers.slice(0, 3), numbers[3] ?? 1];
    return [...numbers.slice(0, 3).map((v) => v / 255), numbers[3] ?? 1];
  };
  const over = (top, below) =>
      top.slice(0, 3).map((v, i) => v * top[3] + below[i] * (1 - top[3]));
  const backOf = (one) => {
    const layers = [];
    for (let at = one; at; at = at.parentElement) {
      layers.push(parse(getComputedStyle(at).backgroundColor));
      if (layers.at(-1)[3] === 1) break;
    }
    const page = matchMedia('(prefers-color-scheme: dark)').matches ? [0, 0, 0] : [1, 1, 1];
    return layers.reverse().reduce((below, top) => over(top, below), page);
  };
  const light = (color) => {
    const [r, g, b] = color.map((v) => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const contrast = (a, b) => {
    const [high, low] = [light(a), light(b)].sort((x, y) => y - x);
    return (high + .05) / (low + .05);
  };
  const shown = (one) => one.checkVisibility({visibilityProperty: true}) &&
      !one.closest('.unseen, dialog:not([open])');

  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = texts.nextNode());) {
    const one = node.parentElement;
    if (!node.data.trim() || !shown(one) || one.closest(':disabled, script, style, svg')) continue;
    const style = getComputedStyle(one);
    const back = backOf(one);
    const ratio = contrast(over(parse(style.color), back), back);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5)) {
      wrong.push(`${nameOf(one)} has a contrast of ${ratio.toFixed(2)}: ${node.data.trim().slice(0, 40)}`);
    }
  }
  for (const one of document.querySelectorAll('input, select, textarea')) {
    if (!shown(one)) continue;
    const style = getComputedStyle(one);
    const around = backOf(one.parentElement);
    if (one.type !== 'checkbox' &&
        contrast(over(parse(style.borderTopColor), around), around) < 3) {
      wrong.push(`the border of ${nameOf(one)} can hardly be seen`);
    }
    if (one.placeholder) {
      const back = backOf(one);
      const color = parse(getComputedStyle(one, '::placeholder').color);
      if (contrast(over(color, back), back) < 4.5) wrong.push(`the hint of ${nameOf(one)} can hardly be read`);
    }
  }

  for (const one of document.querySelectorAll(
      'a[href], button, input, select, textarea, summary, iframe, [role="button"], [role="tab"], [role="img"]')) {
    if (!one.checkVisibility()) continue;
    const label = one.getAttribute('aria-label') || one.textContent.trim() || one.title ||
        [...(one.labels || [])].map((label) => label.textContent.trim()).join(' ');
    if (!label) wrong.push(`${nameOf(one)} has no name`);
    const box = one.getBoundingClientRect();
    if (shown(one) && one.matches('button, input, select, textarea, summary') &&
        (box.height < 16 || box.width < 16)) {
      wrong.push(`${nameOf(one)} is too small: ${box.width} x ${box.height}`);
    }
  }
  for (const name of ['aria-labelledby', 'aria-controls', 'for']) {
    for (const one of document.querySelectorAll(`[${name}]`)) {
      if (!document.getElementById(one.getAttribute(name))) {
        wrong.push(`${nameOf(one)} names ${one.getAttribute(name)}, which is not there`);
      }
    }
  }
  const ids = [...document.querySelectorAll('[id]')].map((one) => one.id);
  for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) {
    wrong.push(`${id} is there twice`);
  }
  if (document.querySelectorAll('[role="tab"][tabindex="0"]').length !== 1) {
    wrong.push('the tabs are not one stop of the Tab key');
  }
  if (!document.documentElement.lang) wrong.push('the page has no language');
  const width = document.documentElement.scrollWidth;
  if (width > innerWidth) {
    const widest = [...document.body.querySelectorAll('*')].filter(
        (one) => shown(one) && one.getBoundingClientRect().right > innerWidth + 1 &&
            !one.closest('.tabs, .scroll, pre'));
    wrong.push(`the page is ${width} wide in a window of ${innerWidth}: ` +
        widest.slice(0, 3).map(nameOf).join(', '));
  }
  return wrong;
})()
