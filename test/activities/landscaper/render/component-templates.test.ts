// The component of a blueprint, as the templates, schemas and sub-installations of the blueprint see it. Source: spec/landscaper.md 2.5, 3.2, 3.6-3.8, 3.11.

import { afterAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { resolveComponents } from '../../../../activities/landscaper/components/resolve-components.ts'
import { type Blueprint, readBlueprint } from '../../../../activities/landscaper/render/blueprint/blueprint.ts'
import { readDefinition } from '../../../../activities/landscaper/render/blueprint/blueprint-definition.ts'
import type { ComponentScope } from '../../../../activities/landscaper/render/blueprint/component-scope.ts'
import { renderExports, runImportExecutions } from '../../../../activities/landscaper/render/executions.ts'
import { findViolations } from '../../../../activities/landscaper/render/schema/validation.ts'
import { renderSubinstallations } from '../../../../activities/landscaper/render/subinstallations.ts'
import { createTemplateEngine } from '../../../../activities/landscaper/render/engine/template-engine.ts'
import {
  blob,
  BLUEPRINT_TYPE,
  descriptorV2,
  descriptorV3,
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
const image = (name: string, arch: string) => ({
  name,
  type: 'ociImage',
  version: '1.0.0',
  extraIdentity: { arch },
  access: { type: 'ociRegistry', imageReference: `example.com/${name}-${arch}:1.0.0` },
})

const shop = {
  resources: [
    blob('blueprint', BLUEPRINT_TYPE, 'shop.tgz'),
    blob('folder', 'blueprint', 'shop'),
    blob('text', 'text'),
    blob('bytes', 'bytes', 'bytes', 'application/octet-stream'),
    image('server', 'arm'),
    image('server', 'amd'),
  ],
  references: [reference('database', DB, '2.0.0')],
  repositoryContexts: [{ type: 'OCIRegistry' }, { type: 'local', filePath: 'repo' }],
}
const stage = newRegistry({
  'repo/shop/component-descriptor.yaml': JSON.stringify(descriptorV2(SHOP, '1.0.0', shop)),
  'repo/shop/blobs/shop.tgz': tarOf(BLUEPRINT, '--gzip'),
  'repo/shop/blobs/shop/blueprint.yaml': BLUEPRINT['blueprint.yaml'],
  'repo/shop/blobs/shop/files/a.txt': BLUEPRINT['files/a.txt'],
  'repo/shop/blobs/text': 'a: [1]\n',
  'repo/shop/blobs/bytes': Buffer.from([0, 255, 1]),
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

/** Exports of one template: the shortest way from a template to values. */
async function rendered(template: unknown, type = 'GoTemplate', more: object = {}, scope?: ComponentScope) {
  const written = { ...more, exportExecutions: [{ name: 'all', type, template }] }
  const blueprint: Blueprint = {
    ...readDefinition(JSON.stringify(written)),
    files: BLUEPRINT,
    component: scope ?? (await scopeOf()),
  }
  const bindings = { blueprint: {}, imports: {}, deployitems: {}, dataobjects: {}, targets: {} }
  return (await renderExports(engine, blueprint, bindings)).exports
}

const value = async (action: string, more?: object) =>
  (await rendered(`exports: { it: {{ ${action} | toJson }} }`, 'GoTemplate', more))['it']
const failure = async (action: string) => (await rejection(value(action))).message

describe('a blueprint of a component', () => {
  it.each(['blueprint', 'folder'])('is read from the resource %s', async (resourceName) => {
    const found = await readBlueprint(data, { ref: { resourceName } }, await scopeOf())
    expect(found.files).toEqual(BLUEPRINT)
    expect(found.component?.own.name).toBe(SHOP)
  })

  it('keeps the bytes of binary files', async () => {
    stage.write({ 'repo/blobs/binary/blueprint.yaml': '{}', 'repo/blobs/binary/store.jks': Buffer.from([0xff, 0xfe]) })
    const inline = descriptorV2(SHOP, '1', { ...shop, resources: [blob('binary', BLUEPRINT_TYPE)] })
    const found = await readBlueprint(data, { ref: { resourceName: 'binary' } }, await scopeOf({ inline }))
    expect(found.files).toEqual({ 'blueprint.yaml': '{}', 'store.jks': { base64: '//4=' } })
  })

  it('is refused when its blueprint.yaml is not text', async () => {
    stage.write({ 'repo/blobs/binary/blueprint.yaml': Buffer.from([0xff, 0xfe]) })
    const inline = descriptorV2(SHOP, '1', { ...shop, resources: [blob('binary', BLUEPRINT_TYPE)] })
    const read = readBlueprint(data, { ref: { resourceName: 'binary' } }, await scopeOf({ inline }))
    expect((await rejection(read)).message).toBe(
      'spec.blueprint.ref, resource binary, blueprint.yaml: found 2 bytes that are not UTF-8, expected text',
    )
  })

  it.each([
    [
      'none',
      `spec.blueprint.ref.resourceName: component ${SHOP}:1.0.0 has no resource none; it has blueprint, folder, text, bytes, server and 1 more`,
    ],
    [
      'text',
      `spec.blueprint.ref.resourceName: resource text of component ${SHOP}:1.0.0: found type text, expected landscaper.gardener.cloud/blueprint`,
    ],
  ])('cannot be read from the resource %s', async (resourceName, message) => {
    expect((await rejection(readBlueprint(data, { ref: { resourceName } }, await scopeOf()))).message).toBe(message)
  })
})

describe('a Go template', () => {
  it('sees the component, its references and the componentDescriptor of the Installation, in the schema of the component', async () => {
    expect(await value('.cd')).toEqual(descriptorV2(SHOP, '1.0.0', shop))
    expect(await value('.componentDescriptorDef')).toEqual(definition)
    expect(await value('(index .components.components 1).component.name')).toBe(DB)
    expect(await value('len .components.components')).toBe(3)
  })

  it('sees components in the schema version that the blueprint requests', async () => {
    const annotations = { ocmSchemaVersion: 'ocm.software/v3alpha1' }
    expect(await value('.cd', { annotations })).toEqual(descriptorV3(SHOP, '1.0.0', shop))
    expect(await value('(getComponent "name" "database").metadata.name', { annotations })).toBe(DB)
    const wrong = rejection(value('.cd', { annotations: { ocmSchemaVersion: 'v9' } }))
    expect((await wrong).message).toBe(
      'blueprint.yaml, annotations.ocmSchemaVersion: found "v9", expected v2 or ocm.software/v3alpha1',
    )
  })

  it.each<[string, unknown]>([
    ['(getResource "name" "server" "arch" "amd").access.imageReference', 'example.com/server-amd:1.0.0'],
    ['(getResource .cd "type" "text").name', 'text'],
    ['(getResource (getComponent "name" "database") "name" "port").type', SCHEMA_TYPE],
    ['len (getResources "name" "server")', 2],
    ['(getComponent "componentName" "example.com/db").component.version', '2.0.0'],
    ['(getComponent (getComponent "name" "database") "name" "logging").component.name', LOG],
    ['(getRepositoryContext .cd).filePath', 'repo'],
    ['getResourceContent "cd://resources/text"', 'a: [1]\n'],
    ['getResourceContent "cd://resources/bytes"', Buffer.from([0, 255, 1]).toString('base64')],
    [
      'len (getResourceContent "cd://componentReferences/database/componentReferences/logging/resources/number")',
      '{"definitions": {"n": {"type": "number"}}, "$ref": "#/definitions/n"}'.length,
    ],
    ['getResourceContent "resource: {name: number}\\nreferencePath: [{name: database}, {name: logging}]" | len', 69],
  ])('can call %s', async (action, expected) => {
    expect(await value(action)).toEqual(expected)
  })

  it('gets the content of a binary resource unchanged', async () => {
    stage.write({ 'repo/blobs/latin': Buffer.from([0xfc, 0]) })
    const inline = descriptorV2(SHOP, '1', { ...shop, resources: [blob('latin', 'text')] })
    const template = 'exports: { it: {{ getResourceContent "cd://resources/latin" | b64enc | quote }} }'
    expect(await rendered(template, 'GoTemplate', {}, await scopeOf({ inline }))).toEqual({ it: '/AA=' })
  })

  it('gets keys that name the component and the resource', async () => {
    const decode = async (uri: string) =>
      parse(Buffer.from(String(await value(`getResourceKey "${uri}"`)), 'base64').toString()) as unknown
    expect(await decode('cd://componentReferences/database/resources/port')).toEqual({
      component: { name: DB, version: '2.0.0' },
      resource: { name: 'port' },
    })
    expect(await decode('cd://resources/server')).toEqual({
      component: { name: SHOP, version: '1.0.0' },
      resource: { name: 'server', arch: 'arm' },
    })
  })

  it.each([
    ['getResource "name" "none"', 'found no resource with name none in component'],
    ['getResource "name"', 'found 1 arguments, expected pairs of a key and a value'],
    ['getComponent "name" "none"', 'found no component reference with name none in component'],
    ['getResourceKey "cd://resources"', 'expected cd://componentReferences/NAME/resources/NAME'],
    [
      'getResourceContent "cd://resources/folder"',
      `getResourceContent: resource folder of component ${SHOP}:1.0.0: found a folder, expected a file`,
    ],
  ])('fails with the cause for %s', async (action, message) => {
    expect(await failure(action)).toContain(message)
  })

  it('may read the contents of at most 50 resources', async () => {
    const all =
      'exports: { it: {{ range $i := until 60 }}{{ getResourceContent (printf "cd://resources/t%d" $i) }}{{ end }} }'
    const resources = Array.from({ length: 60 }, (_, index) => blob(`t${index}`, 'text', 'text'))
    stage.write({ 'repo/blobs/text': '' })
    const inline = descriptorV2(SHOP, '1', { ...shop, resources })
    expect((await rejection(rendered(all, 'GoTemplate', {}, await scopeOf({ inline })))).message).toContain(
      'found more than 50 resources of which it asks for the content, expected fewer',
    )
  })
})

describe('a template without component', () => {
  const blueprint = (type: string, template: unknown): Blueprint => ({
    ...readDefinition(JSON.stringify({ importExecutions: [{ name: 'a', type, template }] })),
    files: {},
  })
  const run = async (type: string, template: unknown) =>
    await runImportExecutions(engine, blueprint(type, template), { blueprint: {}, imports: {} })

  it('has no cd, and its component functions report the missing component', async () => {
    expect(await run('GoTemplate', 'bindings: { it: {{ hasKey . "cd" }} }')).toEqual({ it: false })
    for (const action of ['getResource "name" "a"', 'getComponent "name" "a"', 'getResourceKey "cd://resources/a"']) {
      const { message } = await rejection(run('GoTemplate', `bindings: { it: {{ ${action} }} }`))
      expect(message).toContain('found no component, expected spec.componentDescriptor in the installation')
    }
    const { message } = await rejection(run('Spiff', { bindings: { it: '(( getResource("name", "a").name ))' } }))
    expect(message).toContain('found no component, expected spec.componentDescriptor in the installation')
  })
})

describe('a Spiff template', () => {
  it('sees the same data as a Go template, and has the functions that Landscaper offers', async () => {
    const template = {
      exports: {
        own: '(( cd.component.name ))',
        image: '(( getResource("name", "server", "arch", "amd").access.imageReference ))',
        database: '(( getComponent("name", "database").component.version ))',
        nested: '(( getResource(getComponent("name", "database"), "name", "port").type ))',
        content: '(( getResourceContent("cd://resources/text") ))',
        key: '(( getResourceKey("cd://resources/text") ))',
        count: '(( length(components.components) ))',
      },
    }
    const { key, ...rest } = await rendered(template, 'Spiff')
    expect(rest).toEqual({
      own: SHOP,
      image: 'example.com/server-amd:1.0.0',
      database: '2.0.0',
      nested: SCHEMA_TYPE,
      content: 'a: [1]\n',
      count: 3,
    })
    expect(Buffer.from(String(key), 'base64').toString()).toContain('name: text')
    const { message } = await rejection(rendered({ exports: { it: '(( getResource("name", "none") ))' } }, 'Spiff'))
    expect(message).toContain('found no resource with name none in component')
  })
})

describe('a schema', () => {
  const check = async (schema: unknown, given: unknown) => {
    const sources = { localTypes: { port: { type: 'number' } }, files: {}, component: await scopeOf() }
    return await findViolations(engine, sources, [{ what: 'import a', schema, value: given }])
  }
  const PORT = { $ref: 'cd://componentReferences/database/resources/port' }

  it('may refer to schemas in components, which may refer to further schemas', async () => {
    expect(await check(PORT, { port: 1 })).toEqual([])
    expect(await check(PORT, { port: 'x' })).toEqual(['import a: at /port: type: must be number, found a string'])
    expect(await check({ $ref: `${PORT.$ref}#/properties/port` }, 'x')).toHaveLength(1)
  })

  it.each([
    [
      'cd://resources/none',
      'the schema refers to cd://resources/none: cd://resources/none: component example.com/shop:1.0.0 has no resource none',
    ],
    ['cd://resources/folder', 'the schema refers to cd://resources/folder: found a folder, expected a file'],
    ['cd://x', 'expected cd://componentReferences/NAME/resources/NAME, or cd://resources/NAME'],
  ])('that refers to %s is refused with the cause', async (uri, message) => {
    expect((await rejection(check({ $ref: uri }, 1))).message).toContain(message)
  })

  it('of a component has no local types', async () => {
    expect(await check({ $ref: 'cd://componentReferences/database/resources/odd' }, 1)).toEqual([
      `import a: the schema is invalid: local://port: found in a schema of component ${DB}:2.0.0, which has neither; expected cd://`,
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

  it('with its own blueprint files gets no componentDescriptor', async () => {
    expect(await render({ filesystem: {} }, await scopeOf())).not.toHaveProperty('componentDescriptor')
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
    ['cd://componentReferences/database', 'leads to a component, expected resources/NAME at the end'],
  ])('with the blueprint %s is refused', async (ref, message) => {
    expect((await rejection(render({ ref }, await scopeOf()))).message).toContain(message)
  })

  it('with a blueprint reference is refused when its parent has no component', async () => {
    expect((await rejection(render({ ref: 'cd://resources/a' }))).message).toBe(
      'subinstallations[0]: blueprint.ref: found no spec.componentDescriptor in the installation that the resource could be of, expected one',
    )
  })
})
