import { describe, expect, it } from 'vitest'
import { readBlueprint } from '../../../activities/render/blueprint.ts'

describe('an inline blueprint', () => {
  it('is read from nested maps, with its executions and exports', () => {
    const definition = `
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
jsonSchema: "https://json-schema.org/draft/2019-09/schema" # unknown, means nothing
exports:
  - { name: ingress, schema: { type: string } }
  - { name: cluster, targetType: kubernetes-cluster }
deployExecutions:
  - { name: default, type: GoTemplate, file: /templates/items.yaml }
exportExecutions:
  - name: default
    type: GoTemplate
    template: |
      exports: {}
`
    const files = { 'blueprint.yaml': definition, templates: { 'items.yaml': 'deployItems: []' }, 'a/b.txt': 'B' }
    expect(readBlueprint({ inline: { filesystem: files } })).toEqual({
      files: { 'blueprint.yaml': definition, 'templates/items.yaml': 'deployItems: []', 'a/b.txt': 'B' },
      exports: [
        { name: 'ingress', type: 'data', schema: { type: 'string' } },
        { name: 'cluster', type: 'target', targetType: 'landscaper.gardener.cloud/kubernetes-cluster' },
      ],
      deployExecutions: [{ name: 'default', type: 'GoTemplate', file: '/templates/items.yaml' }],
      exportExecutions: [{ name: 'default', type: 'GoTemplate', template: 'exports: {}\n' }],
    })
  })

  it('is read from one text that holds the files', () => {
    const filesystem = 'blueprint.yaml: |\n  deployExecutions: []\ndata:\n  a.txt: A\n'
    expect(readBlueprint({ inline: { filesystem } })).toEqual({
      files: { 'blueprint.yaml': 'deployExecutions: []\n', 'data/a.txt': 'A' },
      deployExecutions: [],
      exportExecutions: [],
      exports: [],
    })
  })

  it('may have an empty definition and imports that are optional', () => {
    expect(readBlueprint(inline('')).deployExecutions).toEqual([])
    expect(readBlueprint(inline('imports: [{ name: a, type: data, required: false }]')).exports).toEqual([])
  })
})

describe('a blueprint that cannot be read', () => {
  it.each([
    ['nothing', undefined, 'spec.blueprint: found nothing, expected inline or ref'],
    ['neither inline nor ref', {}, 'spec.blueprint.inline: found nothing, expected a map'],
    [
      'no files',
      { inline: {} },
      'spec.blueprint.inline.filesystem: found nothing, expected a map of files and directories',
    ],
    [
      'no definition',
      { inline: { filesystem: { 'other.yaml': '' } } },
      'spec.blueprint.inline.filesystem: found no file blueprint.yaml',
    ],
    [
      'a number as a file',
      { inline: { filesystem: { data: { port: 80 } } } },
      'spec.blueprint.inline.filesystem, file data/port: found a number, expected text (a file) or a map (a directory)',
    ],
    [
      'a path out of it',
      { inline: { filesystem: { '../../etc/passwd': 'x' } } },
      'spec.blueprint.inline.filesystem, file ../../etc/passwd: found a path that leaves the blueprint, expected a name of a file',
    ],
    [
      'files that are no YAML',
      { inline: { filesystem: 'blueprint.yaml: "open' } },
      'spec.blueprint.inline.filesystem: line 1, column 22: missing closing "quote',
    ],
    [
      'a definition that is no YAML',
      inline('kind: Blueprint\nexports: a: b'),
      'blueprint.yaml, line 2, column 10: nested mappings are not allowed in compact mappings; expected YAML',
    ],
    ['a definition that is a list', inline('- a'), 'blueprint.yaml, line 1: found a list, expected a map'],
    ['another kind', inline('kind: Secret'), 'blueprint.yaml, line 1, kind: found Secret, expected Blueprint'],
    [
      'several problems at once',
      inline(
        'exports: { a: b }\ndeployExecutions:\n  - name: default\n    type: GoTemplate\n  - type: 7\n    file: a\n',
      ),
      'blueprint.yaml, line 3, deployExecutions[0]: found neither, expected either file or template; ' +
        'blueprint.yaml, line 5, deployExecutions[1]: found no name, expected one; ' +
        'blueprint.yaml, line 5, deployExecutions[1].type: found a number, expected text; ' +
        'blueprint.yaml, line 1, exports: found a map, expected a list',
    ],
    [
      'exports without their type',
      inline('exports: [{ name: a }, { name: a, type: target }]'),
      'blueprint.yaml, line 1, exports[0]: found no schema, expected one for a data export; ' +
        'blueprint.yaml, line 1, exports[1]: found no targetType, expected one for a target; ' +
        'blueprint.yaml, line 1, exports[1].name: found a twice, expected unique names',
    ],
    [
      'a bomb of aliases',
      inline(['a: &a [x, x]', ...'bcdefghij'.split('').map(bomb)].join('\n')),
      'blueprint.yaml, line 1, column 1: found too many or unknown aliases, expected fewer; expected YAML',
    ],
  ])('says so for %s', (_, spec, message) => {
    expect(errorOf(spec)).toEqual({ code: 'ERR_CONFIGURATION_PROBLEM', message })
  })

  it('says so for lists without end', () => {
    expect(errorOf(inline('['.repeat(100_000)))).toEqual({
      code: 'ERR_CONFIGURATION_PROBLEM',
      // The column is where the stack ended.
      message: expect.stringMatching(
        /^blueprint.yaml, line 1, column \d+: nested too deeply, expected fewer levels;/,
      ) as string,
    })
  })

  it.each([
    [
      'references',
      { ref: { resourceName: 'blueprint' } },
      'spec.blueprint.ref: component references are not supported yet, expected inline',
    ],
    ['imports', inline('imports: [{ name: a, type: data }]'), 'blueprint.yaml: imports are not supported yet'],
    [
      'sub-installations',
      inline('subinstallations: [{ file: a }]\nimportExecutions: [{ name: a }]'),
      'blueprint.yaml: importExecutions, subinstallations are not supported yet',
    ],
  ])('refuses %s, which do not exist yet, instead of ignoring them', (_, spec, message) => {
    expect(errorOf(spec)).toEqual({ code: 'NotSupported', message })
  })
})

function inline(definition: string): unknown {
  return { inline: { filesystem: { 'blueprint.yaml': definition } } }
}

function bomb(letter: string): string {
  const before = String.fromCharCode(letter.charCodeAt(0) - 1)
  return `${letter}: &${letter} [${Array.from({ length: 9 }, () => `*${before}`).join(', ')}]`
}

function errorOf(spec: unknown): unknown {
  try {
    return readBlueprint(spec)
  } catch (error) {
    const { code, message } = error as { code: unknown; message: string }
    return { code, message }
  }
}
