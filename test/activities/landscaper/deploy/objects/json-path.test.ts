import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { compileJsonPath, JsonPathError } from '../../../../../activities/landscaper/deploy/objects/json-path.ts'
import { expectCpuBelow } from '../../../../support/costs/cpu-limit.ts'

const OBJECT = {
  metadata: {
    name: 'web',
    annotations: { 'a.b/c-d': 'escaped', plain: 'x' },
    labels: { "it's": 'quoted', 'a"b': 'double' },
  },
  data: { 'tls.crt': 'Y2VydA==', 'ü/ö': 'unicode' },
  status: {
    phase: 'Running',
    replicas: 0,
    nothing: null,
    conditions: [
      { type: 'Ready', status: 'True', age: 3 },
      { type: 'Synced', status: 'False', age: 5 },
      { type: 'Old one', status: 'True', age: 9 },
    ],
    ports: [80, 443, 8080],
  },
}

const find = (path: string) => compileJsonPath(path).valuesIn(OBJECT)

describe('a path in the syntax of kubectl', () => {
  it.each<[string, unknown[]]>([
    ['status.phase', ['Running']],
    ['.status.phase', ['Running']],
    ['$.status.phase', ['Running']],
    [' .status.phase ', ['Running']],
    ['.status.replicas', [0]],
    ['.status.nothing', [null]],
    ['.', [OBJECT]],
    ['.data.tls\\.crt', ['Y2VydA==']],
    [".data['tls.crt']", ['Y2VydA==']],
    [".data['tls\\.crt']", ['Y2VydA==']],
    ['.data["tls.crt"]', ['Y2VydA==']],
    ['.data.ü/ö', ['unicode']],
    ['.metadata.annotations.a\\.b/c-d', ['escaped']],
    ['.metadata.labels["it\'s"]', ['quoted']],
    [`.metadata.labels['a"b']`, ['double']],
    ['.status.ports[0]', [80]],
    ['.status.ports[-1]', [8080]],
    ['.status.ports[0:2]', [80, 443]],
    ['.status.ports[1:]', [443, 8080]],
    ['.status.ports[::2]', [80, 8080]],
    ['.status.ports[*]', [80, 443, 8080]],
    ['.status.ports.[1]', [443]],
    ['.status.ports[0,2]', [80, 8080]],
    [".status['phase', 'replicas']", ['Running', 0]],
    ['.status.conditions[*].type', ['Ready', 'Synced', 'Old one']],
    ['.status.conditions[?(@.type=="Ready")].status', ['True']],
    [".status.conditions[?(@.type == 'Ready')].status", ['True']],
    ['.status.conditions[?(@.type=="Old one")].age', [9]],
    ['.status.conditions[?(@.age>=5)].type', ['Synced', 'Old one']],
    ['.status.conditions[?(@.type!="Ready")].age', [5, 9]],
    ['.status.conditions[?(@.age>3 && @.status=="True")].type', ['Old one']],
    ['.status.conditions[?(@.gone)].type', []],
    ['.metadata.annotations.*', ['escaped', 'x']],
    ['..type', ['Ready', 'Synced', 'Old one']],
    ['.status..age', [3, 5, 9]],
    ['.gone.entirely', []],
    ['.status.phase.deeper', []],
    ['.status.ports[7]', []],
    ['.constructor', []],
    ['.__proto__', []],
    ['.status.ports.length', []],
  ])('%s', (path, values) => {
    expect(find(path)).toEqual(values)
  })

  it('finds a backslash and a quote in a filter', () => {
    const path = compileJsonPath(String.raw`.[?(@.a=="x\"\\y")].b`)
    expect(path.valuesIn([{ a: 'x"\\y', b: 1 }])).toEqual([1])
  })
})

describe('an invalid path', () => {
  it.each([
    '',
    '{.status}',
    '.a..',
    '.a[',
    ".a['b",
    '.a[?(@.b=="c")',
    '.a b',
    '.a]',
    '.a.',
    '...',
    '.a[b]',
    '.a[1:2:0x]',
  ])('%j is refused', (path) => {
    expect(() => compileJsonPath(path)).toThrow(JsonPathError)
  })

  it('is not quoted, and the message has an example', () => {
    expect(() => compileJsonPath('.canary[')).toThrow(/^not a JSON path; expected one such as \.status\.phase or /)
  })

  it.each([
    ['..a..b', 'more than one ".."'],
    ['.a[?(@..b)]', 'none in a filter'],
    ['.a[?(@.b[*])]', 'a plain path'],
    ['.a[?(@.b[?(@.c)])]', 'a plain path'],
    ['.a[?(@.b[0:1]==1)]', 'a plain path'],
    [`.a${'[*,*,*]'.repeat(3)}`, 'branches'],
    ['.a[?(match(@.b, "(a+)+$"))]', 'not a JSON path'],
    ['.a[?(search(@.b, "(a+)+$"))]', 'not a JSON path'],
    ['.a[?(count(@.b) > 1)]', 'not a JSON path'],
    [`.${'a'.repeat(1001)}`, 'at most 1000'],
  ])('or costs too much, %s, is refused', (path, expected) => {
    expect(() => compileJsonPath(path)).toThrow(expected)
  })

  it('is rejected as invalid in every case', () => {
    const marks = `. .. [ ] * ' " ? ( ) @ $ \\ a 0 -1 : , == { __proto__`.split(' ')
    const pieces = fc.constantFrom(' ', ...marks)
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 24 }), (parts) => {
        try {
          expect(Array.isArray(compileJsonPath(parts.join('')).valuesIn(OBJECT))).toBe(true)
        } catch (error) {
          expect(error).toBeInstanceOf(JsonPathError)
        }
      }),
      { numRuns: 2000 },
    )
  })
})

describe('a hostile object', () => {
  it('ends an evaluation if it is nested too deeply', () => {
    let deep: unknown = 1
    for (let depth = 0; depth < 5000; depth += 1) deep = { a: deep }
    expect(() => compileJsonPath('..a').valuesIn(deep)).toThrow('nested too deeply')
  })

  it('ends an evaluation with too many values', () => {
    const path = compileJsonPath('.[*]')
    expect(() => path.valuesIn(Array.from({ length: 20_000 }, () => 1))).toThrow('more than 10000 values')
  })

  it('costs linear time', () => {
    const wide = Array.from({ length: 100_000 }, (_, index) => ({ a: { b: index } }))
    const look = () => compileJsonPath('..[?(@.b==99999)].b').valuesIn(wide)
    expect(expectCpuBelow(5000, look)).toEqual([99_999])
  })
})
