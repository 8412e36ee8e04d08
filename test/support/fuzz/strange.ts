// Unusual texts, names and JSON: text that looks like another type or language, names of prototype properties, lone surrogates, invisible or reversed letters,
// and large values.

import fc from 'fast-check'

import type { JsonValue } from '../../../workflows/kit/index.ts'
import { ANY_UNIT } from './any-unit.ts'

/** Property names of Object.prototype. */
const PROTOTYPE_NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'valueOf',
  'toJSON',
  'then',
]

const LOOK_ALIKES = [
  ...['null', '~', 'true', 'no', '0', '-1', '1e3', '0x1f', '.inf', 'NaN', 'undefined', '2020-01-01', '12:30:45'],
  ...[
    '[]',
    '{}',
    '{"a": 1}',
    '- a\n- b',
    'a: b',
    'a: [b',
    '*alias',
    '&anchor x',
    '!!js/function "f"',
    '<<: *x',
    '---\n---',
    '\t- x',
    '# x',
  ],
  ...[
    '{{ . }}',
    '{{ fail "x" }}',
    '{{',
    '(( 1 + 1 ))',
    '(( &temporary ))',
    '${x}',
    '%s%n',
    '$(id)',
    "'; drop table job; --",
    '<b>&amp;',
  ],
  ...['-5m', '5', '1h1h', '9999999999h', '.5s', 'none', '1m ', '* * * * *', '@every 1s', '(a+)+$', '[', '*'],
  ...[
    '../..',
    '/etc/passwd',
    'a/b',
    'a/b/c',
    'A_b',
    'a..b',
    '.',
    '..',
    '-',
    'x,y',
    'a=b',
    'kube-system/x',
    'http://[::1',
  ],
]
const ODD_LETTERS = [
  ...[
    '',
    ' ',
    '\n',
    ' a ',
    'a\nb',
    'a\r\nb',
    'a\tb',
    '\u0000',
    'a\u0000b',
    '\u0007',
    '\u001b[31mred',
    '\u007f',
    '\u0085',
    '\u2028',
  ],
  ...[
    '\ufeffa',
    '\u202egnp.exe',
    'a\u0300\u0301\u0302',
    '\u200b',
    '\ud800',
    'a\udc00b',
    '\u{10ffff}',
    '🚢👩‍👩‍👧‍👦',
    'İı',
    'ſ',
    'ß',
    '大きい',
    '\\',
    '"',
    '`',
    '\\u0000',
  ],
]
const LONG = [64, 254, 2_000, 40_000]

export const strangeText: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...LOOK_ALIKES) },
  { weight: 4, arbitrary: fc.constantFrom(...ODD_LETTERS) },
  { weight: 2, arbitrary: fc.constantFrom(...PROTOTYPE_NAMES) },
  { weight: 1, arbitrary: fc.constantFrom(...LONG).map((length) => 'x'.repeat(length)) },
  { weight: 1, arbitrary: fc.constantFrom(...LONG).map((length) => '🚢'.repeat(length / 2)) },
  { weight: 2, arbitrary: fc.string({ unit: ANY_UNIT, maxLength: 12 }) },
)

/** Keys of maps; the API server takes any text. */
const strangeName: fc.Arbitrary<string> = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(...PROTOTYPE_NAMES) },
  { weight: 2, arbitrary: fc.constantFrom('', ' ', '.', 'a.b', 'a b', '0', '-1', '🚢', 'a\nb', 'a/b', '\u0000') },
  { weight: 1, arbitrary: fc.string({ maxLength: 8 }) },
)

const leaf: fc.Arbitrary<JsonValue> = fc.oneof(
  strangeText,
  fc.constantFrom(null, true, false, 0, -1, 1.5, 2 ** 53, 1e21, -1e-7),
)

/** Any JSON; sometimes a well of lists or maps. */
export const strangeJson: fc.Arbitrary<JsonValue> = fc.oneof(
  { weight: 4, arbitrary: leaf },
  { weight: 2, arbitrary: fc.array(leaf, { maxLength: 3 }) },
  { weight: 3, arbitrary: mapOf(fc.oneof(leaf, fc.array(leaf, { maxLength: 2 }))) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.constantFrom(1, 20, 300), fc.boolean()).map(([depth, isList]) => well(depth, isList)),
  },
)

/** A map with strange names; own properties also where the name is `__proto__`. */
export function mapOf(value: fc.Arbitrary<JsonValue>): fc.Arbitrary<Readonly<Record<string, JsonValue>>> {
  return fc.array(fc.tuple(strangeName, value), { maxLength: 3 }).map((entries) => Object.fromEntries(entries))
}

function well(depth: number, isList: boolean): JsonValue {
  let value: JsonValue = 'bottom'
  for (let at = 0; at < depth; at++) value = isList ? [value] : { down: value }
  return value
}
