// Tests that Pawl reads YAML like the Go parser in the template engine. Each text goes to both parsers.

import { afterAll, describe, expect, it } from 'vitest'
import { createDataReader } from '../../../../activities/landscaper/bounded/tenant-data.ts'
import { readBlueprint } from '../../../../activities/landscaper/render/blueprint/blueprint.ts'
import { renderDeployItems } from '../../../../activities/landscaper/render/executions.ts'
import { createTemplateEngine } from '../../../../activities/landscaper/render/engine/template-engine.ts'
import { parseYaml, YamlError, YamlSyntaxError } from '../../../../activities/yaml/read-yaml.ts'
import { withGoFallback } from '../../../../activities/landscaper/render/engine/yaml-by-go.ts'
import { readJson } from '../../../../workflows/kit/index.ts'
import { bindings, blueprintOf, rejection } from './execution-builders.ts'

const PATIENCE = 60_000
const engine = createTemplateEngine({ threads: 1, timeoutMs: PATIENCE })
const reader = createDataReader({ timeoutMs: PATIENCE })
const plain = reader.of({ namespace: 'n' })
/** As an engine has it, but that it may take long. */
const data = withGoFallback(plain, engine)
afterAll(() => Promise.all([engine.close(), reader.close()]))

async function byGo(text: string): Promise<unknown> {
  const template = '{{ fromYaml .text | mustToJson }}'
  const { output } = await engine.render({ engine: 'GoTemplate', name: 'go', template, binding: { text }, files: {} })
  return readJson(output)
}

describe('YAML that parseYaml refuses and Go reads', () => {
  it.each([
    [
      'a map that ends left of its key',
      'a:\n  b: {\n  "x": 1,\n  "y": [\n    1\n  ]\n}\nc: 2',
      { a: { b: { x: 1, y: [1] } }, c: 2 },
    ],
    ['a map that ends below its key', 'a:\n  b: {\n  "x": 1\n  }\nc: 2', { a: { b: { x: 1 } }, c: 2 }],
    ['a list that is not indented', 'a:\n  b: [\n1,\n2\n]\nc: 3', { a: { b: [1, 2] }, c: 3 }],
    [
      'a schema in an item of a list',
      '- name: a\n  schema: {\n    "type": "string"\n}\n- b',
      [{ name: 'a', schema: { type: 'string' } }, 'b'],
    ],
    ['a map with tabs', 'a:\n  b: {\n\t"x": 1, "y": [\n\t2]}\n', { a: { b: { x: 1, y: [2] } } }],
    ['a text in double quotes', 'a:\n  b: "one\n two\n\nthree"\nc: 1', { a: { b: 'one two\nthree' }, c: 1 }],
    ['a text in single quotes', "a:\n  b: 'one\ntwo: ''2'''\nc: 1", { a: { b: "one two: '2'" }, c: 1 }],
    ['a text with tabs', 'a:\n  b: "one\n\ttwo"\n', { a: { b: 'one two' } }],
    [
      'with an alias and a merge',
      'a: &a {\n"x": 1\n}\nb:\n  <<: *a\n  c: {\n"x": yes\n}',
      { a: { x: 1 }, b: { x: 1, c: { x: true } } },
    ],
    ['with a key twice, the last of which counts', 'a:\n  b: {\n"x": 1,\n"x": 2\n}', { a: { b: { x: 2 } } }],
  ])('is read with the result of Go: %s', async (_, text, value) => {
    expect(() => parseYaml(text)).toThrow(YamlSyntaxError)
    expect(await byGo(text)).toEqual(value)
    expect(await data.yaml(text)).toEqual(value)
  })
})

describe('YAML values', () => {
  it.each([
    ['0o644', 420],
    ['-0o644', -420],
    ['+0O6_44', 420],
    ['0X1f', 31],
    ['-0B1_1', -3],
    ['!!int 0o17', 15],
    ['!!str 0o644', '0o644'],
    ['"0o644"', '0o644'],
    ['0o9', '0o9'],
    ['0o', '0o'],
    ['0o_', '0o_'],
    ['0o1.5', '0o1.5'],
    ['0644', 420],
    ['089', 89],
    ['0o777777777777777777777', 9223372036854775807n],
    ['9007199254740993', 9007199254740993n],
    ['0o1777777777777777777777', 18446744073709551615n],
    ['0o2000000000000000000000', '0o2000000000000000000000'],
    ['-0o1000000000000000000000', -9223372036854775808n],
    ['-0o1000000000000000000001', '-0o1000000000000000000001'],
    ['0xFFFFFFFFFFFFFFFF', 18446744073709551615n],
    ['0x1_0000_0000_0000_0000', '0x1_0000_0000_0000_0000'],
    ['!!binary aGVsbG8=', 'hello'],
    ['!!binary "aGVs\\nbG8="', 'hello'],
    ['!!binary |\n  aGVs\n  bG8=\n', 'hello'],
    ['!!binary /+KCxOKCrA==', '\uFFFD\uFFFD\uFFFD\uFFFD€'],
    ['!!binary 8J+YgPCf', '😀\uFFFD\uFFFD'],
    ['!!binary', ''],
    ['[0o7, {0o10: !!binary YQ==}]', [7, { 8: 'a' }]],
  ])('are equal to the values that Go reads: %s', async (written, value) => {
    const text = `a: ${written}`
    expect(await byGo(text)).toEqual({ a: value })
    expect(parseYaml(text).value).toEqual({ a: value })
    expect(await data.yaml(text)).toEqual({ a: value })
  })
})

describe('integers beyond 64 bits', () => {
  it.each(['07777777777777777777777777', '18446744073709551616'])(
    'keep every digit in parseYaml and become floats in Go: %s',
    async (text) => {
      expect(parseYaml(text).value).toBe(BigInt(text))
      expect(await byGo(text)).toBe(Number(text))
    },
  )
})

describe('numbers in templates', () => {
  it.each(['9007199254740993', '-9223372036854775808', '18446744073709551615', '123456789012345678901234567890'])(
    'print with every digit: %s',
    async (text) => {
      const template = '{{ .number }} {{ toJson .number }} {{ .text | fromJson }}'
      const binding = { number: readJson(text), text }
      const { output } = await engine.render({ engine: 'GoTemplate', name: 'go', template, binding, files: {} })
      expect(output).toBe(`${text} ${text} ${text}`)
    },
  )

  it('keep every digit up to 64 bits in Spiff; a larger number fails with the path of its field', async () => {
    const render = (binding: unknown) =>
      engine.render({ engine: 'Spiff', name: 's', template: 'out: (( values.number ))', binding, files: {} })
    const least = await render({ values: { number: -9223372036854775808n } })
    expect(least.output).toBe('{"out":-9223372036854775808}')
    await expect(render({ values: { number: 18446744073709551616n } })).rejects.toThrow('field "values.number"')
  })
})

describe('YAML that Go refuses too', () => {
  it.each([
    ['an open list', 'a: [1', 'bad indent'],
    ['an open map', 'a:\n  b: {\n  "x": 1\n', 'bad indent'],
    ['an open quote', 'a: "x', 'missing char'],
    ['a bracket too many', 'a: {x: 1}}', 'unexpected token'],
    ['no comma', 'a:\n  b: {\n"x": 1\n"y": 2\n}', 'bad indent'],
    ['a tab before a key', 'a:\n\tb: 1', 'tab as indent'],
    ['tabs before a nested bracket', 'a: {\n\t"x": [\n\t\t1\n\t]\n}\n', 'bad indent'],
    ['two keys in a line', 'a: b: c', 'block as implicit key'],
    ['an unknown escape', 'a: "\\q"', 'bad dq escape'],
    ['no base64', 'a: !!binary "???"', 'tag resolve failed'],
    ['an alias of nothing', 'a: *x', 'found an unknown alias; expected an anchor with its name above it'],
    ['an alias in its own anchor', 'a: &x [*x]', 'found an alias inside its own anchor; expected it after the anchor'],
    ['an alias of nothing below a map that is not indented', 'a:\n  b: {\n"x": *x\n}', 'bad indent'],
    ['a merge of a number', '<<: 1', 'found << without a map; expected a map or an alias of a map'],
  ])('fails with the reason of parseYaml: %s', async (_, text, reason) => {
    await expect(byGo(text)).rejects.toThrow('fromYaml')
    await expect(data.yaml(text)).rejects.toThrow(expect.objectContaining({ name: YamlError.name, reason }) as Error)
  })
})

describe('the fallback to the Go parser', { timeout: PATIENCE }, () => {
  const level = (index: number) => `l${index}: &l${index} [${`*l${index - 1}, `.repeat(9)}]`
  const levels = ['l0: &l0 [lol]', ...Array.from({ length: 9 }, (_, index) => level(index + 1))].join('\n')

  it.each([
    ['a bomb of aliases', levels, 'found aliases that expand to more than 250000 values or 8388608 characters'],
    ['open brackets', `a:\n  b: {\n"x": ${'['.repeat(2000)}\n}`, 'nested too deeply; expected fewer levels'],
    ['tokens', `a:\n  b: {\n"x": [${'1,'.repeat(130_000)}]\n}`, 'found more than 250000 tokens; expected less text'],
    ['characters', `a:\n  b: "\n${'x'.repeat(4 * 1024 * 1024)}"`, /^found 4194\d+ characters/],
  ])('does not send YAML over a limit to Go: %s', async (_, text, message) => {
    const requests: unknown[] = []
    const render = (request: unknown) => Promise.reject(new Error(`requested ${String(requests.push(request))}`))
    await expect(withGoFallback(plain, { render }).yaml(text)).rejects.toThrow(message)
    expect(requests).toEqual([])
  })

  it('refuses a bomb of aliases, like Go', async () => {
    const bomb = `${levels}\nb:\n  c: {\n"x": 1\n}`
    await expect(data.yaml(bomb)).rejects.toThrow(expect.objectContaining({ reason: 'bad indent' }) as Error)
  })

  it.each([
    ['values behind aliases', `a: &a [${'1, '.repeat(5000)}]\nb:\n  c: {\n"x": [${'*a, '.repeat(26)}]\n}`],
    // Not indented, they are one text for our parser.
    ['values', `a:\n  b: [\n${'1,\n'.repeat(130_000)}]`],
  ])('refuses a result of Go with too many %s', async (_, text) => {
    await expect(data.yaml(text)).rejects.toThrow('found more than 250000 tokens; expected less text')
  })

  it('calls Go only for YAML that parseYaml refuses', async () => {
    const render = () => Promise.reject(new Error('asked'))
    expect(await withGoFallback(plain, { render }).yaml('a: [1]')).toEqual({ a: [1] })
    await expect(withGoFallback(plain, { render }).yaml('a: [1')).rejects.toThrow('asked')
  })
})

const literal = (text: string) => text.replace(/[.[\]]/g, '\\$&')

describe('a blueprint whose JSON is not indented', () => {
  const read = (text: string) => readBlueprint(data, { inline: { filesystem: { 'blueprint.yaml': text } } })

  it('is read with its schemas', async () => {
    const text = 'kind: Blueprint\nimports:\n- name: a\n  schema: {\n    "type": "string"\n}\n'
    expect(await read(text)).toMatchObject({ imports: [{ name: 'a', schema: { type: 'string' } }] })
  })

  it.each([
    ['short', ''],
    ['so long that a thread reads it', `\n${'# comment\n'.repeat(10_000)}`],
  ])('fails with each problem and the last line that parseYaml has read: %s', async (_, more) => {
    const text = `exports:\n- schema: {}\n  name: 1\n- name: a\n  schema: {\n}\n- name: 2\n  schema: {\n}\n${more}`
    const [first, second] = ['line 3, exports[0].name: found a number', 'line 2, exports[2].name: found a number']
    await expect(read(text)).rejects.toThrow(new RegExp(`${literal(first)}.*${literal(second)}`))
    const open = `exports:\n- name: {\n${more}`
    await expect(read(open)).rejects.toThrow(/blueprint\.yaml, line \d+, column \d+: not valid YAML: /)
  })

  it('renders JSON below the top level into items', async () => {
    const config = {
      apiVersion: 'mock/v1',
      kind: 'ProviderConfiguration',
      values: { list: [1, { b: 'x' }], text: 'é "q"' },
    }
    const template = 'deployItems:\n- name: a\n  type: mock\n  config: {{ .imports.config | toPrettyJson }}\n'
    const rendered = await renderDeployItems(engine, blueprintOf({ template }), bindings({ config }))
    expect(rendered.items).toEqual([{ name: 'a', type: 'mock', config }])

    const unclosed = blueprintOf({ template: template.replace('config: ', 'config: [') })
    expect((await rejection(renderDeployItems(engine, unclosed, bindings({ config })))).message).toContain(
      'template "exec-0": the output is not valid YAML: line 5, column 3: bad indent\n',
    )
  })
})
