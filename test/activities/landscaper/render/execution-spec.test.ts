import { gunzipSync } from 'node:zlib'

import { afterAll, describe, expect, it } from 'vitest'

import { renderExecution } from '../../../../activities/landscaper/render/executions.ts'
import { createTemplateEngine } from '../../../../activities/landscaper/render/engine/template-engine.ts'
import { bindings, blueprintOf, items } from './execution-builders.ts'

const engine = createTemplateEngine({ threads: 1, timeoutMs: 1000 })
afterAll(() => engine.close())

const render = async (template: string, imports: Record<string, unknown> = {}) =>
  await renderExecution(engine, blueprintOf({ template }), { ...bindings(imports), context: 'blue' })

describe('the spec of an Execution', () => {
  it('contains the context and the compressed rendered items', async () => {
    const { spec, hasItems } = await render(items('{{ .imports.prefix }}-a'), { prefix: 'first' })
    expect([spec.context, hasItems]).toEqual(['blue', true])
    const text = gunzipSync(Buffer.from(spec.deployItemsCompressed, 'base64')).toString()
    expect(JSON.parse(text)).toMatchObject([{ name: 'first-a', type: 'mock' }])
  })

  it('is the same text for equal items whose fields have another order', async () => {
    const { spec } = await render(items('a', 'labels: { x: "1", y: "2" }'))
    const other = await render(items('a', 'labels: { y: "2", x: "1" }'))
    expect(other.spec).toEqual(spec)
  })

  it('contains an empty list when the template renders no items', async () => {
    const { spec, hasItems } = await render('# nothing')
    expect(hasItems).toBe(false)
    expect(gunzipSync(Buffer.from(spec.deployItemsCompressed, 'base64')).toString()).toBe('[]')
  })

  it('is rendered together with the states for the next render', async () => {
    const { states } = await render(`${items('a')}\nstate: { seen: 1 }`)
    expect(states).toEqual({ 'exec-0': { seen: 1 } })
  })
})
