import { describe, expect, it } from 'vitest'
import { readBlueprint } from '../../../../activities/landscaper/render/blueprint/blueprint.ts'
import { data } from '../tenant-data.ts'

describe('an inline blueprint', () => {
  it('may be in the flow style of YAML, which Landscaper reads only when the text is also JSON', async () => {
    const flow = `{kind: Blueprint, exports: [{name: out, schema: {type: string}}], # a comment
      deployExecutions: [{name: a, type: GoTemplate, template: 'deployItems: []'}]}`
    expect(await readBlueprint(data, { inline: { filesystem: { 'blueprint.yaml': flow } } })).toMatchObject({
      deployExecutions: [{ name: 'a', type: 'GoTemplate' }],
      exports: [{ name: 'out' }],
    })
  })

  it('is read from nested maps, with its executions and exports', async () => {
    const definition = `
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
jsonSchema: "https://json-schema.org/draft/2019-09/schema" # unknown, means nothing
localTypes:
  port: { type: integer }
imports:
  - { name: host, type: data, schema: { type: string } }
  - { name: port, required: false, default: { value: 80 }, schema: { $ref: local://port } }
  - name: tls
    type: data
    required: false
    schema: { type: boolean }
    imports: [{ name: certificate, schema: { type: string } }]
  - { name: cluster, targetType: kubernetes-cluster }
  - { name: zones, type: targetList, targetType: mock, required: true }
  - { name: tenants, type: targetMap, targetType: mock }
importExecutions:
  - { name: check, type: Spiff, template: { errors: [] } }
exports:
  - { name: ingress, schema: { type: string } }
  - { name: cluster, targetType: kubernetes-cluster }
deployExecutions:
  - { type: GoTemplate, file: /templates/items.yaml }
exportExecutions:
  - name: default
    type: GoTemplate
    template: |
      exports: {}
`
    const files = { 'blueprint.yaml': definition, templates: { 'items.yaml': 'deployItems: []' }, 'a/b.txt': 'B' }
    const [CLUSTER, MOCK] = ['landscaper.gardener.cloud/kubernetes-cluster', 'landscaper.gardener.cloud/mock']
    const required = { type: 'data', required: true, imports: [] }
    const text = { type: 'string' }
    expect(await readBlueprint(data, { inline: { filesystem: files } })).toEqual({
      files: { 'blueprint.yaml': definition, 'templates/items.yaml': 'deployItems: []', 'a/b.txt': 'B' },
      localTypes: { port: { type: 'integer' } },
      jsonSchemaVersion: 'https://json-schema.org/draft/2019-09/schema',
      imports: [
        { ...required, name: 'host', schema: text },
        { ...required, name: 'port', required: false, default: { value: 80 }, schema: { $ref: 'local://port' } },
        {
          ...required,
          name: 'tls',
          required: false,
          schema: { type: 'boolean' },
          imports: [{ ...required, name: 'certificate', schema: text }],
        },
        { ...required, name: 'cluster', type: 'target', targetType: CLUSTER },
        { ...required, name: 'zones', type: 'targetList', targetType: MOCK },
        { ...required, name: 'tenants', type: 'targetMap', targetType: 'mock' },
      ],
      importExecutions: [{ name: 'check', type: 'Spiff', template: { errors: [] } }],
      exports: [
        { name: 'ingress', type: 'data', schema: text },
        { name: 'cluster', type: 'target', targetType: CLUSTER },
      ],
      deployExecutions: [{ name: '', place: 'deployExecutions[0]', type: 'GoTemplate', file: '/templates/items.yaml' }],
      exportExecutions: [{ name: 'default', type: 'GoTemplate', template: 'exports: {}\n' }],
      subinstallations: [],
      subinstallationExecutions: [],
    })
  })

  it('is read from one YAML text that contains all files', async () => {
    const filesystem = 'blueprint.yaml: |\n  deployExecutions: []\ndata:\n  a.txt: A\n'
    const { files } = await readBlueprint(data, { inline: { filesystem } })
    expect(files).toEqual({ 'blueprint.yaml': 'deployExecutions: []\n', 'data/a.txt': 'A' })
  })

  it('may have an empty definition and a null default, and the default of a required import is ignored', async () => {
    expect((await readBlueprint(data, inline(''))).deployExecutions).toEqual([])
    const definition =
      'imports: [{ name: a, required: false, schema: {}, default: { value: null } }, { name: b, schema: {}, default: { value: 1 } }]'
    const [a, b] = (await readBlueprint(data, inline(definition))).imports
    expect(a?.default).toEqual({ value: null })
    expect(b).not.toHaveProperty('default')
  })
})

describe('a blueprint that cannot be read', () => {
  it.each([
    ['nothing', undefined, 'spec.blueprint: found nothing; expected inline or ref'],
    ['neither inline nor ref', {}, 'spec.blueprint.inline: found nothing; expected a map'],
    [
      'no files',
      { inline: {} },
      'spec.blueprint.inline.filesystem: found nothing; expected a map of files and directories',
    ],
    [
      'no definition',
      { inline: { filesystem: { 'other.yaml': '' } } },
      'spec.blueprint.inline.filesystem: "blueprint.yaml" is missing (found: other.yaml); add it',
    ],
    [
      'a number as a file',
      { inline: { filesystem: { data: { port: 80 } } } },
      'spec.blueprint.inline.filesystem, file data/port: found a number; expected text (a file) or a map (a directory)',
    ],
    [
      'a path that leaves the blueprint',
      { inline: { filesystem: { '../../etc/passwd': 'x' } } },
      'spec.blueprint.inline.filesystem, file ../../etc/passwd: found a path that leaves the blueprint; expected a name of a file',
    ],
    [
      'files that are not YAML',
      { inline: { filesystem: 'blueprint.yaml: "open' } },
      'spec.blueprint.inline.filesystem: line 1, column 22: missing closing "quote',
    ],
    [
      'a definition that is not YAML',
      inline('kind: Blueprint\nexports: a: b'),
      'blueprint.yaml, line 2, column 10: not valid YAML: nested mappings are not allowed in compact mappings',
    ],
    ['a definition that is a list', inline('- a'), 'blueprint.yaml, line 1: found a list; expected a map'],
    [
      'a key that is one letter off',
      inline('kind: Blueprint\ndeployExecution: []'),
      'blueprint.yaml, line 2, deployExecution: unknown field; did you mean "deployExecutions"?',
    ],
    ['another kind', inline('kind: Secret'), 'blueprint.yaml, line 1, kind: found "Secret"; expected "Blueprint"'],
    [
      'several problems at once',
      inline(
        'exports: { a: b }\ndeployExecutions:\n  - name: default\n    type: GoTemplate\n  - type: 7\n    file: a\n',
      ),
      'blueprint.yaml, line 3, deployExecutions[0]: file and template are missing; set one of them | ' +
        'blueprint.yaml, line 5, deployExecutions[1].type: found a number; expected text | ' +
        'blueprint.yaml, line 1, exports: found a map; expected a list',
    ],
    [
      'exports without their type',
      inline('exports: [{ name: a }, { name: a, type: target }]'),
      'blueprint.yaml, line 1, exports[0]: schema is missing; add it for an export of type "data" | ' +
        'blueprint.yaml, line 1, exports[1]: targetType is missing; add it for an export of type "target" | ' +
        'blueprint.yaml, line 1, exports[1].name: found "a" twice; expected unique names',
    ],
    [
      'imports without their type',
      inline(
        'imports:\n- { name: a }\n- { type: target }\n- { name: a, type: secret }\n- { name: b, type: targetMap, targetType: 5 }\n' +
          '- { name: c, schema: {}, required: false, default: 5 }\n- { name: d, schema: {}, required: false, default: {} }\n',
      ),
      'blueprint.yaml, line 2, imports[0]: type, schema and targetType are missing; set one of them | ' +
        'blueprint.yaml, line 3, imports[1]: name is missing; add it | ' +
        'blueprint.yaml, line 3, imports[1]: targetType is missing; add it for an import of type "target" | ' +
        'blueprint.yaml, line 4, imports[2].name: found "a", as in imports[0]; expected unique names | ' +
        'blueprint.yaml, line 4, imports[2].type: found "secret"; expected "data", "target", "targetList" or "targetMap" | ' +
        'blueprint.yaml, line 5, imports[3].targetType: found a number; expected text | ' +
        'blueprint.yaml, line 6, imports[4].default: found a number; expected a map | ' +
        'blueprint.yaml, line 7, imports[5].default: value is missing; add default.value',
    ],
    [
      'conditional imports below a required one, and one name in two places',
      inline('imports:\n- name: a\n  schema: {}\n  imports:\n  - { name: a, schema: {} }\n'),
      'blueprint.yaml, line 5, imports[0].imports[0].name: found "a", as in imports[0]; expected unique names | ' +
        'blueprint.yaml, line 5, imports[0].imports: found conditional imports of a required import; set required: false',
    ],
    [
      'a reference without a component',
      { ref: { resourceName: 'blueprint' } },
      'spec.blueprint.ref: spec.componentDescriptor is missing; set it to the component that has the resource',
    ],
  ])('is refused with the place and the cause: %s', async (_, spec, message) => {
    expect(await errorOf(spec)).toEqual({ code: 'ERR_CONFIGURATION_PROBLEM', message })
  })
})

function inline(definition: string): unknown {
  return { inline: { filesystem: { 'blueprint.yaml': definition } } }
}

async function errorOf(spec: unknown): Promise<unknown> {
  try {
    return await readBlueprint(data, spec)
  } catch (error) {
    const { code, message } = error as { code: unknown; message: string }
    return { code, message }
  }
}
