// Executions of blueprints: errors, which never contain imported values, the spec of the Execution, and states. golden.test.ts tests the results.

import { gunzipSync } from 'node:zlib'
import { afterAll, describe, expect, it } from 'vitest'
import {
  renderDeployItems,
  renderExecution,
  renderExports,
  runImportExecutions,
} from '../../../../activities/landscaper/render/executions.ts'
import type { Blueprint } from '../../../../activities/landscaper/render/blueprint/blueprint.ts'
import { readDefinition } from '../../../../activities/landscaper/render/blueprint/blueprint-definition.ts'
import { renderSubinstallations } from '../../../../activities/landscaper/render/subinstallations.ts'
import { createTemplateEngine } from '../../../../activities/landscaper/render/engine/template-engine.ts'
import { bindings, blueprintOf, exportsOf, items, rejection, type ExecutorFields } from './execution-builders.ts'

const CANARY = 'canary-7d21c0'
const engine = createTemplateEngine({ threads: 1, timeoutMs: 1000 })
afterAll(() => engine.close())

describe('the deploy executions of a blueprint', () => {
  it('fail with every problem of the joined list', async () => {
    const failure = await failureOf({ template: items('a') }, { template: items('a', 'dependsOn: [ghost]') })
    expect(failure).toMatchObject({
      code: 'ERR_CONFIGURATION_PROBLEM',
      message:
        'deploy item "a": found the name twice; expected unique names | ' +
        'deploy item "a": dependsOn: no item "ghost"; expected names of a',
    })
  })

  it.each([
    [{ template: 'deployItems: none' }, 'template "deployExecutions[1]": deployItems: found a string'],
    [{ template: '{{ .nothing.at.all }}' }, 'template: deployExecutions[1]:1:'],
    [{ template: 'a: b: c' }, 'template "deployExecutions[1]": the output is not valid YAML'],
    [{ type: 'Jsonnet', template: 'x' }, 'template "deployExecutions[1]": type: found "Jsonnet"'],
    [{ file: 'nope.yaml' }, 'template "deployExecutions[1]": file: no file "nope.yaml" in the blueprint'],
    [{ template: { a: 1 } }, 'template "deployExecutions[1]": template: found a map; expected text'],
  ])('without a name are named by their position in the blueprint: %o', async (executor, message) => {
    const unnamed = { name: '', place: 'deployExecutions[1]' }
    const { message: found } = await failureOf({ template: '# none' }, { ...executor, ...unnamed })
    expect(found).toContain(message)
    expect(found).not.toContain('""')
  })
})

describe('an execution in Spiff', () => {
  it('fails with the expressions that have no value, their places and the shape of the input', async () => {
    const template = {
      deployItems: [{ name: '(( imports.nothing ))', type: 'mock', config: {} }],
      other: '(( "x" imports.nothing ))',
    }
    const failure = await failureOf({ type: 'Spiff', template }, { template: '' }, { password: CANARY })
    expect(failure.code).toBe('TemplatingFailed')
    const [head, first, second, input] = failure.message.split('\n')
    expect([head, ...[first, second].sort(), input]).toEqual([
      'template "exec-0": unresolved nodes:',
      '\t(( "x" imports.nothing ))\tin template\tother\t()\t*\'imports.nothing\' not found',
      '\t(( imports.nothing ))\tin template\tdeployItems.[0].name\t()',
      'input: {"imports":{"password":"[string]"},"blueprint":{"inline":{"id":"[number]"}},"blueprintDef":{"inline":{"id":"[number]"}}}',
    ])
  })

  it.each([
    'a: (( error(imports.password) ))',
    'a: (( error("x" imports.password "y") ))',
    'a: (( imports.password - 1 ))',
    'a: (( imports.password.[0] ))',
    'a: (( imports.[imports.password] ))',
    'a: (( read(imports.password) ))',
    'a: (( format("%d", imports.password) - 1 ))',
    'a: (( validate(imports.password, ["match", "q"]) ))',
    'a: (( decrypt(imports.password, imports.password) ))',
    'a: (( parse("{" imports.password, "yaml") ))',
    'a: (( eval("imports." imports.password) ))',
    'a: (( exec(imports.password) ))',
    'a: (( imports.password(1) ))',
    'a: (( catch(error(imports.password)).nothing ))',
    'deployItems: (( imports.password ))',
    'deployItems: [{ name: a, timeout: (( imports.password )), type: b, config: { a: b } }]',
  ])('never reveals an import value in its error: %s', async (template) => {
    const failure = await failureOf({ type: 'Spiff', template }, { template: '' }, { password: CANARY })
    expect(failure.name).toBe('BlueprintError')
    expect(failure.message).not.toContain(CANARY)
    expect(failure.message).not.toContain(CANARY.slice(-6))
  })
})

describe('the message of an execution that failed', () => {
  const secret = { password: CANARY, list: [CANARY] }

  it('shows the lines of the template around the error and the shape of the input', async () => {
    const lines = Array.from({ length: 14 }, (_, index) => `# line ${index + 1}`)
    const template = lines.with(6, '{{ fail .imports.password }}').join('\n')
    const failure = await failureOf({ template }, { template: '' }, secret)
    expect(failure.code).toBe('TemplatingFailed')
    expect(failure.message).toBe(
      [
        'template: exec-0:7:3: executing "exec-0" at <fail .imports.password>: error calling fail: ***',
        'exec-0:',
        '   2 | # line 2',
        '   3 | # line 3',
        '   4 | # line 4',
        '   5 | # line 5',
        '   6 | # line 6',
        '>  7 | {{ fail .imports.password }}',
        '   8 | # line 8',
        '   9 | # line 9',
        '  10 | # line 10',
        '  11 | # line 11',
        '  12 | # line 12',
        'input: {"imports":{"password":"[string]","list":["[string]"]},"blueprint":{"inline":{"id":"[number]"}},' +
          '"blueprintDef":{"inline":{"id":"[number]"}},"state":{}}',
      ].join('\n'),
    )
  })

  it('shows the lines of the partial that contains the error', async () => {
    const files = { 'part.tpl': 'one\n{{ fail "broken part" }}' }
    const blueprint = { ...blueprintOf({ template: 'x: {{ include "part.tpl" . }}' }), files }
    const failure = await rejection(renderDeployItems(engine, blueprint, bindings({})))
    expect(failure.message).toContain(
      'error calling fail: broken part\npart.tpl:\n  1 | one\n> 2 | {{ fail "broken part" }}',
    )
  })

  it('shows the rendered text with redacted values when the text is not YAML', async () => {
    const template =
      'deployItems:\n- name: a\n  type: mock\n  token: {{ .imports.password }}: {{ .imports.password | b64enc }}\n  config: {}'
    const failure = await failureOf({ template }, { template: '' }, secret)
    expect(failure.message.split('\n').slice(0, -1)).toEqual([
      'template "exec-0": the output is not valid YAML: line 4, column 10: block as implicit key',
      '  1 | deployItems:',
      '  2 | - name: a',
      '  3 |   type: mock',
      '> 4 |   token: ***',
      '  5 |   config: {}',
    ])
  })

  it('marks the rendered line in which a value is missing', async () => {
    const template = items('a', 'timeout: {{ .imports.timeout }}{{ .imports.password }}')
    const failure = await failureOf({ template }, { template: '' }, secret)
    expect(failure.message.split('\n').slice(0, -1)).toEqual([
      'template "exec-0": rendered "no value" in line 5; use only fields that have a value, or set a default',
      '  1 | deployItems:',
      '  2 | - name: a',
      '  3 |   type: mock',
      '  4 |   config: { apiVersion: mock/v1, kind: ProviderConfiguration }',
      '> 5 |   timeout: <no ***',
    ])
  })

  it('compresses the shape of a large input', async () => {
    const many = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`key-${index}`, CANARY]))
    const failure = await failureOf({ template: '{{ fail "x" }}' }, { template: '' }, many)
    const dump = /input: gzip\+base64: (\S+)$/.exec(failure.message)?.[1] ?? ''
    expect(JSON.parse(gunzipSync(Buffer.from(dump, 'base64')).toString())).toMatchObject({
      imports: { 'key-59': '[string]' },
    })
  })

  it.each([
    ['lists without end', 'nested too deeply', '{{ repeat 100000 "[" }}'],
    ['many levels', 'rendered more than 200 levels', 'a: {{ repeat 300 "[" }}{{ repeat 300 "]" }}'],
  ])('reports an output with %s', async (_, expected, template) => {
    const failure = await failureOf({ template })
    expect(failure.code).toBe('TemplatingFailed')
    expect(failure.message).toContain(expected)
  })

  it('reports a Spiff template that renders too many levels', async () => {
    const template = `a: ${'['.repeat(300)}${']'.repeat(300)}`
    const failure = await failureOf({ type: 'Spiff', template })
    expect(failure.message).toBe('template "exec-0": rendered more than 200 levels; expected fewer')
  })

  it('reports a template that exceeds its time limit', async () => {
    const failure = await failureOf({ template: '{{ range 9223372036854775807 }}{{ end }}' })
    expect(failure).toMatchObject({
      code: 'TemplatingFailed',
      message: 'template "exec-0": not rendered within 1000 ms',
      cause: { code: 'TemplateTimeout' },
    })
  })

  it.each([
    '{{ fail .imports.password }}',
    '{{ fail (printf "%s" .imports) }}',
    '{{ fail (toYaml .imports) }}',
    '{{ range .imports.password }}{{ end }}',
    '{{ atoi .imports.password }}{{ mustToDate "2006" .imports.password }}',
    '{{ .imports.password }}: : {{ .imports.password | b64enc }}',
    '"{{ .imports.password }}',
    '{{ .imports.password }}',
    '- {{ .imports.password }}',
    'a: *{{ .imports.password }}',
    '{{ .imports.password }}: <no value>',
    'x: {{ .imports.password }}{{ .imports.nothing }}',
    'deployItems: {{ .imports.password }}',
    'deployItems: [{{ .imports.password }}]',
    'deployItems: [{ name: a, config: {{ .imports.password }}, labels: { a: [{{ .imports.password }}] } }]',
    'deployItems: [{ name: a, timeout: {{ .imports.password }}, type: b, config: { a: b } }]',
    '{{ include .imports.password . }}',
    '{{ fromYaml (printf "{%s" .imports.password) }}',
    '{{ index .imports.list 3 }}{{ get .imports.password "a" }}',
    '{{ regexMatch (printf "(%s" .imports.password) "a" }}{{ mustRegexMatch (printf "(%s" .imports.password) "a" }}',
    '{{ template "nope" .imports.password }}',
    '{{ semver .imports.password }}',
    '{{ .imports.password.field }}',
  ])('never contains an import value: %s', async (template) => {
    const failure = await failureOf({ template }, { template: '' }, secret)
    expect(failure.name).toBe('BlueprintError')
    expect(failure.message).not.toContain(CANARY)
    expect(failure.message).not.toContain(CANARY.slice(-6))
    expect(failure.message).not.toContain(Buffer.from(CANARY).toString('base64').slice(0, 8))
  })
})

describe('the export executions of a blueprint', () => {
  const bound = {
    blueprint: {},
    imports: { region: 'eu' },
    deployitems: { app: { url: 'http://a' } },
    dataobjects: { sub: 5 },
    targets: { cluster: { spec: { type: 'mock' } } },
  }

  it('export nothing when the blueprint has no export executions or they render nothing', async () => {
    expect(await renderExports(engine, exportsOf(), bound)).toEqual({ exports: {}, states: {} })
    expect(await renderExports(engine, exportsOf('# nothing'), bound)).toEqual({ exports: {}, states: {} })
  })

  it.each([
    ['exports: [a]', 'ERR_CONFIGURATION_PROBLEM', 'template "exec-0": exports: found a list; expected a map'],
    ['exports: { a: {{ .values.deployitems.none }} }', 'TemplatingFailed', 'rendered "no value" in line 1'],
  ])('fail on %s', async (template, code, message) => {
    const failure = await rejection(renderExports(engine, exportsOf(template), bound))
    expect(failure.code).toBe(code)
    expect(failure.message).toContain(message)
  })
})

describe('the spec of an Execution', () => {
  const render = async (template: string, imports: Record<string, unknown> = {}) =>
    await renderExecution(engine, blueprintOf({ template }), { ...bindings(imports), context: 'blue' })
  const unpacked = (text: string): unknown => JSON.parse(gunzipSync(Buffer.from(text, 'base64')).toString())

  it('contains the context and the compressed rendered items, and is returned with the states for the next render', async () => {
    const rendered = await render(`${items('{{ .imports.prefix }}-a')}\nstate: { seen: 1 }`, { prefix: 'first' })
    expect(rendered).toMatchObject({ spec: { context: 'blue' }, hasItems: true, states: { 'exec-0': { seen: 1 } } })
    expect(unpacked(rendered.spec.deployItemsCompressed)).toMatchObject([{ name: 'first-a', type: 'mock' }])
    const none = await render('# nothing')
    expect([none.hasItems, unpacked(none.spec.deployItemsCompressed)]).toEqual([false, []])
  })

  it('is the same text for equal items whose fields have another order', async () => {
    const { spec } = await render(items('a', 'labels: { x: "1", y: "2" }'))
    const other = await render(items('a', 'labels: { y: "2", x: "1" }'))
    expect(other.spec).toEqual(spec)
  })
})

describe('the state of an execution', () => {
  const go =
    'state: { count: {{ add 1 (default 0 .state.count) }} }\n' + items('item-{{ add 1 (default 0 .state.count) }}')
  it('is shared only by executions with the same name', async () => {
    const [one = { name: '', type: '' }] = blueprintOf({ template: go }).deployExecutions
    const blueprint = { ...blueprintOf(), deployExecutions: [one, one, { ...one, name: 'other' }] }
    const rendered = renderDeployItems(engine, blueprint, bindings({}))
    await expect(rendered).rejects.toThrow('deploy item "item-1": found the name twice')
    const two = await renderDeployItems(engine, { ...blueprint, deployExecutions: [one, one] }, bindings({}))
    expect(two.states).toEqual({ 'exec-0': { count: 2 } })
  })

  it('is stored under the empty name for an execution without a name', async () => {
    const blueprint = blueprintOf({ name: '', place: 'deployExecutions[0]', template: go })
    const first = await renderDeployItems(engine, blueprint, bindings({}))
    const second = await renderDeployItems(engine, blueprint, { ...bindings({}), states: first.states })
    expect([first.states, second.states]).toEqual([{ '': { count: 1 } }, { '': { count: 2 } }])
  })
})

describe('the import executions of a blueprint', () => {
  const importsOf = (...executors: ExecutorFields[]) => {
    const { deployExecutions, ...rest } = blueprintOf(...executors)
    return { ...rest, deployExecutions: [], importExecutions: deployExecutions }
  }

  it('fail with the errors that they report, limited in number and length', async () => {
    const run = (template: string) =>
      runImportExecutions(engine, importsOf({ template }), { blueprint: {}, imports: {} })
    expect(await rejection(run('errors: [too small, 7]'))).toMatchObject({
      code: 'ImportExecutionFailed',
      message: 'import execution "exec-0": too small; found a number; expected text',
    })
    const many = await rejection(run('errors: [{{ range until 1000 }}{{ repeat 1000 "x" }},{{ end }}]'))
    expect(many.message).toMatch(/x\.\.\.; and 990 more$/)
    expect(many.message.length).toBeLessThan(6000)
    expect(await rejection(run('errors: none'))).toMatchObject({ code: 'ERR_CONFIGURATION_PROBLEM' })
  })
})

describe('the sub-installations of a blueprint', () => {
  const NONE = { data: {}, targetObjects: {} }

  function blueprint(definition: object, files: Readonly<Record<string, string>> = {}): Blueprint {
    return { ...readDefinition(JSON.stringify(definition)), files }
  }

  const template = (name: string, more: object = {}) => ({ name, blueprint: { filesystem: { a: 'b' } }, ...more })
  const listing = (...subinstallations: readonly object[]) => blueprint({ subinstallations })

  const render = async (given: Blueprint, imports: typeof NONE = NONE) =>
    await renderSubinstallations(engine, given, { blueprint: {}, imports: imports.data }, imports)
  const problemOf = async (...subinstallations: readonly object[]) =>
    (await rejection(render(listing(...subinstallations)))).message

  it('are refused with the reason when a template is invalid', async () => {
    expect(await problemOf({ file: 'none.yaml' })).toContain('subinstallations[0]: file: no file "none.yaml"')
    expect(await problemOf({ blueprint: { filesystem: {} } })).toContain('subinstallations[0]: name is missing')
    expect(await problemOf(template('A_b'))).toContain('subinstallations[0]: name: found invalid characters')
    expect(await problemOf(template('a'.repeat(53)))).toContain('expected at most 52')
    expect(await problemOf({ name: 'a' })).toContain('ref and filesystem are missing')
    expect(await problemOf(template('a'), template('a'))).toContain('sub-installation "a": found the name twice')
    expect(await problemOf(template('a', { kind: 'Blueprint' }))).toContain('kind: found "Blueprint"')
    const secret = { name: 'x', secretRef: { name: 's' } }
    expect(await problemOf(template('a', { imports: { data: [secret] } }))).toContain(
      'only root installations may import it',
    )
  })

  it('import only objects of the parent, of siblings or of the global scope', async () => {
    const wants = (imports: object) => problemOf(template('a', { imports }))
    expect(await wants({ data: [{ name: 'x', dataRef: 'y' }] })).toBe(
      'sub-installation "a": import "x": no data "y" in the imports of the parent and the exports of the siblings; import it in the parent, or correct the name',
    )
    expect(await wants({ targets: [{ name: 'x', targetListRef: 'y' }] })).toContain('no target list "y"')
    expect(await wants({ targets: [{ name: 'x', targets: ['y[0]'] }] })).toContain('no target "y[0]"')
    const { templates } = await render(
      listing(template('a', { imports: { data: [{ name: 'x', dataRef: '#global' }] } })),
    )
    expect(templates).toHaveLength(1)
  })

  it('must not export a name that the parent imports', async () => {
    const sub = template('a', { exports: { data: [{ name: 'x', dataRef: 'size' }] } })
    const given = blueprint({ imports: [{ name: 'size', type: 'data', schema: {} }], subinstallations: [sub] })
    const { message } = await rejection(render(given, { ...NONE, data: { size: 1 } }))
    expect(message).toBe(
      'sub-installation "a": exports: found "size", which is also an import of the parent; use another name',
    )
  })

  it('are refused with the path of their dependency cycle', async () => {
    const link = (name: string, from: string, to: string) =>
      template(name, {
        imports: { data: [{ name: 'in', dataRef: from }] },
        exports: { data: [{ name: 'out', dataRef: to }] },
      })
    expect(await rejection(render(listing(link('a', 'y', 'x'), link('b', 'x', 'y'))))).toMatchObject({
      code: 'ERR_CYCLIC_DEPENDENCIES',
      message: 'subinstallations: they import from each other: a -> b -> a; remove one of these imports',
    })
    const twice = [link('a', '#y', 'x'), link('b', '#x', 'x')]
    expect(await rejection(render(listing(...twice)))).toMatchObject({ code: 'ERR_CONFIGURATION_PROBLEM' })
  })
})

async function failureOf(first: ExecutorFields, second?: ExecutorFields, imports: Record<string, unknown> = {}) {
  const blueprint = blueprintOf(...(second === undefined ? [first] : [first, second]))
  return await rejection(renderDeployItems(engine, blueprint, bindings(imports)))
}
