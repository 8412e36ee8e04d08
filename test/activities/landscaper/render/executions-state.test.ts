import { afterAll, describe, expect, it } from 'vitest'
import {
  renderDeployItems,
  renderExports,
  runImportExecutions,
} from '../../../../activities/landscaper/render/executions.ts'
import { createTemplateEngine } from '../../../../activities/landscaper/render/engine/template-engine.ts'
import { bindings, blueprintOf, exportsOf, items, rejection, type ExecutorFields } from './execution-builders.ts'

const engine = createTemplateEngine({ threads: 1, timeoutMs: 5000 })
afterAll(() => engine.close())

describe('the state of an execution', () => {
  const go =
    'state: { count: {{ add 1 (default 0 .state.count) }} }\n' + items('item-{{ add 1 (default 0 .state.count) }}')
  const spiff = {
    state: { '<<': '(( &state ))', password: '(( rand("a-z", 20) ))' },
    deployItems: [
      { name: '(( state.password ))', type: 'mock', config: { apiVersion: 'mock/v1', kind: 'ProviderConfiguration' } },
    ],
  }

  it('is the field "state" of the rendered Go template, and the next render reads it', async () => {
    const blueprint = blueprintOf({ template: go }, { template: '# none' })
    const first = await renderDeployItems(engine, blueprint, bindings({}))
    expect([first.items.map(({ name }) => name), first.states]).toEqual([['item-1'], { 'exec-0': { count: 1 } }])
    const second = await renderDeployItems(engine, blueprint, { ...bindings({}), states: first.states })
    expect([second.items.map(({ name }) => name), second.states]).toEqual([['item-2'], { 'exec-0': { count: 2 } }])
  })

  it('is the part that a Spiff template marks as state, and the next render keeps it unchanged', async () => {
    const blueprint = blueprintOf({ type: 'Spiff', template: spiff })
    const first = await renderDeployItems(engine, blueprint, bindings({}))
    const name = first.items[0]?.name ?? ''
    expect(name).toMatch(/^[a-z]{20}$/)
    expect(first.states).toEqual({ 'exec-0': { state: { password: name } } })
    const second = await renderDeployItems(engine, blueprint, { ...bindings({}), states: first.states })
    expect(second).toEqual(first)
    expect((await renderDeployItems(engine, blueprint, bindings({}))).items).not.toEqual(first.items)
  })

  it('is shared only by executions with the same name', async () => {
    const [one = { name: '', type: '' }] = blueprintOf({ template: go }).deployExecutions
    const blueprint = { ...blueprintOf(), deployExecutions: [one, one, { ...one, name: 'other' }] }
    const rendered = renderDeployItems(engine, blueprint, bindings({}))
    await expect(rendered).rejects.toThrow('deploy item item-1: the name occurs twice')
    const two = await renderDeployItems(engine, { ...blueprint, deployExecutions: [one, one] }, bindings({}))
    expect(two.states).toEqual({ 'exec-0': { count: 2 } })
  })

  it('is stored under the empty name for an execution without a name', async () => {
    const blueprint = blueprintOf({ name: '', place: 'deployExecutions[0]', template: go })
    const first = await renderDeployItems(engine, blueprint, bindings({}))
    const second = await renderDeployItems(engine, blueprint, { ...bindings({}), states: first.states })
    expect([first.states, second.states]).toEqual([{ '': { count: 1 } }, { '': { count: 2 } }])
  })

  it('is stored for export executions too', async () => {
    const blueprint = exportsOf('state: { seen: true }\nexports: { before: {{ hasKey .state "seen" }} }')
    const bound = { blueprint: {}, imports: {}, deployitems: {}, dataobjects: {}, targets: {} }
    const first = await renderExports(engine, blueprint, bound)
    expect(first).toEqual({ exports: { before: false }, states: { 'exec-0': { seen: true } } })
    expect((await renderExports(engine, blueprint, { ...bound, states: first.states })).exports).toEqual({
      before: true,
    })
  })
})

describe('the import executions of a blueprint', () => {
  const importsOf = (...executors: ExecutorFields[]) => {
    const { deployExecutions, ...rest } = blueprintOf(...executors)
    return { ...rest, deployExecutions: [], importExecutions: deployExecutions }
  }

  it('add bindings that later import executions read, from Go templates to Spiff', async () => {
    const blueprint = importsOf(
      { template: 'bindings: { host: {{ .imports.name }}.local, empty: "{{ .imports.nothing }}" }' },
      { type: 'Spiff', template: { bindings: { url: '(( "http://" imports.host ))' } } },
    )
    expect(await runImportExecutions(engine, blueprint, { blueprint: {}, imports: { name: 'app' } })).toEqual({
      name: 'app',
      host: 'app.local',
      empty: '<no value>',
      url: 'http://app.local',
    })
  })

  it('fail with the errors that they report, limited in number and length', async () => {
    const run = (template: string) =>
      runImportExecutions(engine, importsOf({ template }), { blueprint: {}, imports: {} })
    expect(await rejection(run('errors: [too small, 7]'))).toMatchObject({
      code: 'ImportExecutionFailed',
      message: 'import execution exec-0: too small; found a number, expected a text',
    })
    const many = await rejection(run('errors: [{{ range until 1000 }}{{ repeat 1000 "x" }},{{ end }}]'))
    expect(many.message).toMatch(/x\.\.\.; and 990 more$/)
    expect(many.message.length).toBeLessThan(6000)
    expect(await rejection(run('errors: none'))).toMatchObject({ code: 'ERR_CONFIGURATION_PROBLEM' })
  })
})
