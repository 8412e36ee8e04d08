// The component of a blueprint in templates, schemas and sub-installations: errors and limits. golden.test.ts tests the functions of templates.
// Source: spec/landscaper.md 2.5, 3.2, 3.6-3.8, 3.11.

import { afterAll, describe, expect, it } from 'vitest'
import { resolveComponents } from '../../../../activities/landscaper/components/resolve-components.ts'
import { type Blueprint, readBlueprint } from '../../../../activities/landscaper/render/blueprint/blueprint.ts'
import { readDefinition } from '../../../../activities/landscaper/render/blueprint/blueprint-definition.ts'
import type { ComponentScope } from '../../../../activities/landscaper/render/blueprint/component-scope.ts'
import { renderExports } from '../../../../activities/landscaper/render/executions.ts'
import { findViolations } from '../../../../activities/landscaper/render/schema/validation.ts'
import { renderSubinstallations } from '../../../../activities/landscaper/render/subinstallations.ts'
import { createTemplateEngine } from '../../../../activities/landscaper/render/engine/template-engine.ts'
import {
  blob,
  BLUEPRINT_TYPE,
  descriptorV2,
  descriptorV3,
  type Entry,
  newRegistry,
  noRegistries,
  reference,
  tarOf,
} from '../../../support/registries/component-registry.ts'
import { data } from '../tenant-data.ts'
import { rejection } from './execution-builders.ts'

const engine = createTemplateEngine({ threads: 1, timeoutMs: 20_000 })
const [SHOP, DB, LOG] = ['example.com/shop', 'example.com/db', 'example.com/log']
const SCHEMA_TYPE = 'landscaper.gardener.cloud/jsonschema'
const BLUEPRINT = { 'blueprint.yaml': 'kind: Blueprint', 'files/a.txt': 'A' }
const shop = {
  resources: [
    blob('blueprint', BLUEPRINT_TYPE, 'shop.tgz'),
    blob('folder', 'blueprint', 'shop'),
    blob('text', 'text'),
    ...['more-1', 'more-2', 'more-3'].map((name) => blob(name, 'text')),
  ],
  references: [reference('database', DB, '2.0.0')],
  repositoryContexts: [{ type: 'OCIRegistry' }, { type: 'local', filePath: 'repo' }],
}
const stage = newRegistry({
  'repo/shop/component-descriptor.yaml': JSON.stringify(descriptorV2(SHOP, '1.0.0', shop)),
  'repo/shop/blobs/shop.tgz': tarOf(BLUEPRINT, '--gzip'),
  'repo/shop/blobs/shop/blueprint.yaml': BLUEPRINT['blueprint.yaml'],
  'repo/shop/blobs/shop/files/a.txt': BLUEPRINT['files/a.txt'],
  'repo/blobs/text': '',
  'repo/db/component-descriptor.yaml': JSON.stringify(
    descriptorV3(DB, '2.0.0', {
      resources: [blob('blueprint', BLUEPRINT_TYPE), blob('port', SCHEMA_TYPE), blob('odd', SCHEMA_TYPE)],
      references: [reference('logging', LOG, '3.0.0')],
    }),
  ),
  'repo/db/blobs/port':
    '{"type": "object", "properties": {"port": {"$ref": "cd://componentReferences/logging/resources/number"}}}',
  'repo/db/blobs/odd': '{"$ref": "local://port"}',
  'repo/log/component-descriptor.yaml': JSON.stringify(
    descriptorV2(LOG, '3.0.0', { resources: [blob('number', SCHEMA_TYPE)] }),
  ),
  'repo/log/blobs/number': '{"definitions": {"n": {"type": "number"}}, "$ref": "#/definitions/n"}',
})
afterAll(async () => {
  stage.remove()
  await engine.close()
})

const definition = {
  ref: { repositoryContext: { type: 'local', filePath: 'repo' }, componentName: SHOP, version: '1.0.0' },
}
const scopeOf = async (source: object = definition): Promise<ComponentScope> =>
  await resolveComponents(data, {
    definition: source as Record<string, unknown>,
    repositoryContext: undefined,
    context: 'default',
    registryFolder: stage.folder,
    registries: noRegistries,
  })

/** Exports of one Go template: the shortest way from a template to values. */
async function rendered(template: string, more: object = {}, source?: object) {
  const exportExecutions = [{ name: 'all', type: 'GoTemplate', template }]
  const component = await scopeOf(source)
  const blueprint = { ...readDefinition(JSON.stringify({ ...more, exportExecutions })), files: BLUEPRINT, component }
  const bindings = { blueprint: {}, imports: {}, deployitems: {}, dataobjects: {}, targets: {} }
  return (await renderExports(engine, blueprint, bindings)).exports
}

const failure = async (action: string, more?: object) =>
  (await rejection(rendered(`exports: { it: {{ ${action} | toJson }} }`, more))).message
/** The component with other resources. */
const withResources = (...resources: readonly Entry[]) => ({ inline: descriptorV2(SHOP, '1', { ...shop, resources }) })

describe('a blueprint of a component', () => {
  it.each(['blueprint', 'folder'])('is read from the resource %s', async (resourceName) => {
    const found = await readBlueprint(data, { ref: { resourceName } }, await scopeOf())
    expect(found.files).toEqual(BLUEPRINT)
    expect(found.component?.own.name).toBe(SHOP)
  })

  it('keeps the bytes of binary files, and is refused when its blueprint.yaml is not text', async () => {
    const read = async () =>
      await readBlueprint(
        data,
        { ref: { resourceName: 'binary' } },
        await scopeOf(withResources(blob('binary', BLUEPRINT_TYPE))),
      )
    const bytes = Buffer.from([0xff, 0xfe])
    stage.write({ 'repo/blobs/binary/blueprint.yaml': '{}', 'repo/blobs/binary/store.jks': bytes })
    expect((await read()).files).toEqual({ 'blueprint.yaml': '{}', 'store.jks': { base64: '//4=' } })
    stage.write({ 'repo/blobs/binary/blueprint.yaml': bytes })
    expect((await rejection(read())).message).toBe(
      'spec.blueprint.ref, resource "binary", blueprint.yaml: found 2 bytes that are not UTF-8; expected text',
    )
  })

  it.each([
    [
      'none',
      `spec.blueprint.ref.resourceName: component ${SHOP}:1.0.0 has no resource none; it has blueprint, folder, text, more-1, more-2 and 1 more`,
    ],
    [
      'text',
      `spec.blueprint.ref.resourceName: resource "text" of component "${SHOP}:1.0.0": type: found "text"; expected "landscaper.gardener.cloud/blueprint"`,
    ],
  ])('cannot be read from the resource %s', async (resourceName, message) => {
    expect((await rejection(readBlueprint(data, { ref: { resourceName } }, await scopeOf()))).message).toBe(message)
  })
})

describe('a Go template', () => {
  it('gets the content of a binary resource unchanged', async () => {
    stage.write({ 'repo/blobs/latin': Buffer.from([0xfc, 0]) })
    const template = 'exports: { it: {{ getResourceContent "cd://resources/latin" | b64enc | quote }} }'
    expect(await rendered(template, {}, withResources(blob('latin', 'text')))).toEqual({ it: '/AA=' })
  })

  it.each([
    ['getResource "name"', 'found 1 arguments, expected pairs of a key and a value'],
    ['getResourceKey "cd://resources"', 'expected cd://componentReferences/NAME/resources/NAME'],
    [
      'getResourceContent "cd://resources/folder"',
      `getResourceContent: resource "folder" of component "${SHOP}:1.0.0": found a folder; expected a file`,
    ],
  ])('fails with the cause for %s', async (action, message) => {
    expect(await failure(action)).toContain(message)
  })

  it('may not request another schema version of components than v2 and v3alpha1', async () => {
    expect(await failure('.cd', { annotations: { ocmSchemaVersion: 'v9' } })).toBe(
      'blueprint.yaml, annotations.ocmSchemaVersion: found "v9"; expected v2 or ocm.software/v3alpha1',
    )
  })

  it('may read the contents of at most 50 resources', async () => {
    const all =
      'exports: { it: {{ range $i := until 60 }}{{ getResourceContent (printf "cd://resources/t%d" $i) }}{{ end }} }'
    const resources = Array.from({ length: 60 }, (_, index) => blob(`t${index}`, 'text', 'text'))
    expect((await rejection(rendered(all, {}, withResources(...resources)))).message).toContain(
      'found more than 50 requests for contents of resources; expected fewer',
    )
  })
})

describe('a schema', () => {
  const check = async (schema: unknown, given: unknown) => {
    const sources = { localTypes: { port: { type: 'number' } }, files: {}, component: await scopeOf() }
    return await findViolations(engine, sources, [{ what: 'import "a"', schema, value: given }])
  }
  const PORT = { $ref: 'cd://componentReferences/database/resources/port' }

  it('may refer to schemas in components, which may refer to further schemas', async () => {
    expect(await check(PORT, { port: 1 })).toEqual([])
    expect(await check(PORT, { port: 'x' })).toEqual(['import "a": at /port: must be number, found a string'])
    expect(await check({ $ref: `${PORT.$ref}#/properties/port` }, 'x')).toHaveLength(1)
  })

  it.each([
    [
      'cd://resources/none',
      'the schema refers to "cd://resources/none": cd://resources/none: component example.com/shop:1.0.0 has no resource none',
    ],
    ['cd://resources/folder', 'the schema refers to "cd://resources/folder": found a folder; expected a file'],
    ['cd://x', 'expected cd://componentReferences/NAME/resources/NAME, or cd://resources/NAME'],
  ])('that refers to %s is refused with the cause', async (uri, message) => {
    expect((await rejection(check({ $ref: uri }, 1))).message).toContain(message)
  })

  it('of a component has no local types', async () => {
    expect(await check({ $ref: 'cd://componentReferences/database/resources/odd' }, 1)).toEqual([
      `import "a": the schema is invalid: local://port: not available to a schema of component "${DB}:2.0.0"; use cd://`,
    ])
  })
})

describe('a sub-installation', () => {
  const render = async (blueprint: object, scope?: ComponentScope) => {
    const written = { subinstallations: [{ name: 'db', blueprint }] }
    const parent: Blueprint = {
      ...readDefinition(JSON.stringify(written)),
      files: {},
      ...(scope !== undefined && { component: scope }),
    }
    const none = { data: {}, targetObjects: {} }
    return (await renderSubinstallations(engine, parent, { blueprint: {}, imports: {} }, none)).templates[0]
  }

  it.each([
    'cd://componentReferences/database/resources/blueprint',
    'componentReferences/database/resources/blueprint',
  ])('with the blueprint %s has the component that contains this blueprint', async (ref) => {
    expect(await render({ ref }, await scopeOf())).toMatchObject({
      blueprint: { ref: { resourceName: 'blueprint' } },
      componentDescriptor: { ref: { ...definition.ref, componentName: DB, version: '2.0.0' } },
    })
  })

  it.each([
    [
      'cd://resources/none',
      'subinstallations[0]: blueprint.ref: cd://resources/none: component example.com/shop:1.0.0 has no resource none',
    ],
    [
      'cd://componentReferences/none/resources/a',
      'component example.com/shop:1.0.0 has no component reference none; it has database',
    ],
    ['cd://componentReferences/database', 'leads to a component; expected resources/NAME at the end'],
  ])('with the blueprint %s is refused', async (ref, message) => {
    expect((await rejection(render({ ref }, await scopeOf()))).message).toContain(message)
  })

  it('with a blueprint reference is refused when its parent has no component', async () => {
    expect((await rejection(render({ ref: 'cd://resources/a' }))).message).toBe(
      'subinstallations[0]: blueprint.ref: the installation has no spec.componentDescriptor; set it to the component that has the resource',
    )
  })
})
