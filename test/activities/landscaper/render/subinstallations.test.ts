// Tests which sub-installations a blueprint renders, and the errors for invalid ones.

import { afterAll, describe, expect, it } from 'vitest'
import type { Blueprint } from '../../../../activities/landscaper/render/blueprint/blueprint.ts'
import { readDefinition } from '../../../../activities/landscaper/render/blueprint/blueprint-definition.ts'
import { renderSubinstallations } from '../../../../activities/landscaper/render/subinstallations.ts'
import { createTemplateEngine } from '../../../../activities/landscaper/render/engine/template-engine.ts'
import { rejection } from './execution-builders.ts'

const engine = createTemplateEngine({ threads: 1, timeoutMs: 5000 })
afterAll(() => engine.close())

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

describe('the sub-installations of a blueprint', () => {
  it('are refused with the reason when a template is invalid', async () => {
    expect(await problemOf({ file: 'none.yaml' })).toContain('subinstallations[0]: found no file none.yaml')
    expect(await problemOf({ blueprint: { filesystem: {} } })).toContain('subinstallations[0]: found no name')
    expect(await problemOf(template('A_b'))).toContain('subinstallations[0]: name: found other characters')
    expect(await problemOf(template('a'.repeat(53)))).toContain('expected at most 52')
    expect(await problemOf({ name: 'a' })).toContain('found neither ref nor filesystem')
    expect(await problemOf(template('a'), template('a'))).toContain('sub-installation a: the name occurs twice')
    expect(await problemOf(template('a', { kind: 'Blueprint' }))).toContain('kind: found Blueprint')
    const secret = { name: 'x', secretRef: { name: 's' } }
    expect(await problemOf(template('a', { imports: { data: [secret] } }))).toContain('is for root installations')
  })

  it('import only objects of the parent, of siblings or of the global scope', async () => {
    const wants = (imports: object) => problemOf(template('a', { imports }))
    expect(await wants({ data: [{ name: 'x', dataRef: 'y' }] })).toBe(
      'sub-installation a: import x wants data y, which neither the parent imports nor a sibling exports',
    )
    expect(await wants({ targets: [{ name: 'x', targetListRef: 'y' }] })).toContain('wants target list y')
    expect(await wants({ targets: [{ name: 'x', targets: ['y[0]'] }] })).toContain('wants target y[0]')
    const { templates } = await render(
      listing(template('a', { imports: { data: [{ name: 'x', dataRef: '#global' }] } })),
    )
    expect(templates).toHaveLength(1)
  })

  it('must not export a name that the parent imports', async () => {
    const sub = template('a', { exports: { data: [{ name: 'x', dataRef: 'size' }] } })
    const given = blueprint({ imports: [{ name: 'size', type: 'data', schema: {} }], subinstallations: [sub] })
    const { message } = await rejection(render(given, { ...NONE, data: { size: 1 } }))
    expect(message).toBe('sub-installation a: exports size, which the parent imports; expected another name')
  })

  it('are refused with the path of their dependency cycle', async () => {
    const link = (name: string, from: string, to: string) =>
      template(name, {
        imports: { data: [{ name: 'in', dataRef: from }] },
        exports: { data: [{ name: 'out', dataRef: to }] },
      })
    expect(await rejection(render(listing(link('a', 'y', 'x'), link('b', 'x', 'y'))))).toMatchObject({
      code: 'ERR_CYCLIC_DEPENDENCIES',
      message: 'subinstallations: they import from each other: a -> b -> a',
    })
    const twice = [link('a', '#y', 'x'), link('b', '#x', 'x')]
    expect(await rejection(render(listing(...twice)))).toMatchObject({ code: 'ERR_CONFIGURATION_PROBLEM' })
  })
})
