#ifndef TRIVIUM_TESTS_MODEL_CHAT_FORMAT_TEMPLATES_H_
#define TRIVIUM_TESTS_MODEL_CHAT_FORMAT_TEMPLATES_H_

namespace trivium {

// Chat templates in the styles of published ones, written for these tests.

// JSON in tags, one a call; thoughts in <think>, which can be switched off.
inline constexpr char kTagged[] =
    R"({%- if tools %}<|im_start|>system
Tools: {{ tools | tojson }}<|im_end|>
{% endif %}
{%- for m in messages %}<|im_start|>{{ m.role }}
{% if m.role == 'assistant' and m.reasoning_content %}<think>
{{ m.reasoning_content }}
</think>

{% endif %}{{ m.content }}{% for c in m.tool_calls %}
{%- if not loop.first or m.content %}
{% endif %}<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% if enable_thinking is defined and not enable_thinking %}<think>

</think>

{% endif %}{% endif %})";

// A bare JSON object, one call a message.
inline constexpr char kBare[] =
    R"({%- if tools %}<|head|>system<|end_head|>{{ tools | tojson }}<|eot|>{% endif %}
{%- for m in messages %}<|head|>{{ m.role }}<|end_head|>

{% if m.tool_calls %}
{%- if m.tool_calls | length != 1 %}{{ raise_exception('one call only') }}{% endif %}
{%- set c = m.tool_calls[0].function %}{"name": "{{ c.name }}", "parameters": {{ c.arguments | tojson }}}
{%- else %}{{ m.content }}{% endif %}<|eot|>{% endfor %}
{%- if add_generation_prompt %}<|head|>assistant<|end_head|>

{% endif %})";

// A JSON list behind a mark, with ids.
inline constexpr char kList[] =
    R"({%- if tools %}[AVAILABLE_TOOLS]{{ tools | tojson }}[/AVAILABLE_TOOLS]{% endif %}
{%- for m in messages %}
{%- if m.role == 'user' %}[INST]{{ m.content }}[/INST]
{%- elif m.tool_calls %}{{ m.content }}[TOOL_CALLS][
{%- for c in m.tool_calls %}{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}, "id": "{{ c.id }}"}{% if not loop.last %}, {% endif %}{% endfor %}]</s>
{%- else %}{{ m.content }}</s>{% endif %}{% endfor %})";

// A name and JSON between marks, with an id, in a section.
inline constexpr char kNamed[] =
    R"({%- if tools %}<|tools|>{{ tools | tojson }}{% endif %}
{%- for m in messages %}<|{{ m.role }}|>{{ m.content }}
{%- if m.tool_calls %}<|calls_begin|>{% for c in m.tool_calls %}<|call_begin|>functions.{{ c.function.name }}:{{ loop.index0 }}<|args|>{{ c.function.arguments | tojson }}<|call_end|>{% endfor %}<|calls_end|>{% endif %}<|eot|>{% endfor %}
{%- if add_generation_prompt %}<|assistant|>{% endif %})";

// Tags of functions and parameters; the prompt opens the thought.
inline constexpr char kParameters[] =
    R"({%- if tools %}<|im_start|>system
{{ tools | tojson }}<|im_end|>
{% endif %}
{%- for m in messages %}<|im_start|>{{ m.role }}
{% if m.role == 'assistant' %}<think>
{{ m.reasoning_content or '' }}
</think>

{% endif %}{{ m.content }}{% for c in m.tool_calls %}
<tool_call>
<function={{ c.function.name }}>
{% for k, v in c.function.arguments | items %}<parameter={{ k }}>
{{ v if v is string else v | tojson }}
</parameter>
{% endfor %}</function>
</tool_call>{% endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
<think>
{% endif %})";

// Keys and values in tags; the name ends where they begin.
inline constexpr char kKeysAndValues[] =
    R"({%- if tools %}<|system|>{{ tools | tojson }}{% endif %}
{%- for m in messages %}<|{{ m.role }}|>{{ m.content }}
{%- for c in m.tool_calls %}<tool_call>{{ c.function.name }}
{%- for k, v in c.function.arguments | items %}<arg_key>{{ k }}</arg_key><arg_value>{{ v if v is string else v | tojson }}</arg_value>{% endfor %}</tool_call>{% endfor %}{% endfor %}
{%- if add_generation_prompt %}<|assistant|>{% endif %})";

// An object with bare keys and quotes of its own; content behind the calls.
inline constexpr char kQuoted[] =
    R"q({%- macro write(v) -%}
{%- if v is string %}<|"|>{{ v }}<|"|>
{%- elif v is mapping %}{{ '{' }}{% for k, x in v | items %}{{ k }}:{{ write(x) }}{% if not loop.last %},{% endif %}{% endfor %}{{ '}' }}
{%- elif v is sequence %}[{% for x in v %}{{ write(x) }}{% if not loop.last %},{% endif %}{% endfor %}]
{%- else %}{{ v | tojson }}{% endif %}
{%- endmacro %}
{%- if tools %}<|tools>{{ tools | tojson }}<tools|>{% endif %}
{%- for m in messages %}<|turn>{{ m.role }}
{% for c in m.tool_calls %}<|tool_call>call:{{ c.function.name }}{{ write(c.function.arguments) }}<tool_call|>{% endfor %}{{ m.content }}<turn|>{% endfor %}
{%- if add_generation_prompt %}<|turn>assistant
{% endif %})q";

// Channels.
inline constexpr char kChannels[] =
    R"({%- if tools %}<|start|>developer<|message|>{{ tools | tojson }}<|end|>{% endif %}
{%- for m in messages %}
{%- if m.role == 'assistant' %}
{%- if m.thinking %}<|start|>assistant<|channel|>analysis<|message|>{{ m.thinking }}<|end|>{% endif %}
{%- if m.tool_calls %}
{%- if m.content %}<|start|>assistant<|channel|>commentary<|message|>{{ m.content }}<|end|>{% endif %}
{%- for c in m.tool_calls %}<|start|>assistant to=functions.{{ c.function.name }}<|channel|>commentary json<|message|>{{ c.function.arguments | tojson }}<|call|>{% endfor %}
{%- else %}<|start|>assistant<|channel|>final<|message|>{{ m.content }}<|return|>{% endif %}
{%- else %}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{% endif %}{% endfor %}
{%- if add_generation_prompt %}<|start|>assistant{% endif %})";

inline constexpr char kNoTools[] =
    R"({%- for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}
{%- if add_generation_prompt %}<|assistant|>{% endif %})";

}  // namespace trivium

#endif  // TRIVIUM_TESTS_MODEL_CHAT_FORMAT_TEMPLATES_H_
