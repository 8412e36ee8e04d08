// Mistakes of users in Installations: each job fails in the phase that the spec defines, with an error that names the mistake, and no other job is disturbed.
// Source: spec/landscaper.md 2.3 "Init", 2.7, 2.8, 3, 5.3. A sample of the table runs in CI (docs/test-matrices.md). Mistakes in imports: imports.test.ts.

import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  BOMB,
  loggedProblems,
  dataImport,
  type ExpectedFailure,
  expectFailure,
  fixBlueprint,
  Neighbour,
  rendering,
  configurationProblem,
} from '../support/landscaper/bad-input.ts'
import { installation, item } from '../support/cluster/cluster.ts'
import { configMap, dataObject, importingInstallation, secret } from '../support/landscaper/imports.ts'
import { sampleOf } from '../support/matrix/form.ts'
import { useStage } from '../support/pawl/stage.ts'

const stage = useStage('bad-input')
let neighbour: Neighbour
beforeAll(async () => {
  neighbour = await Neighbour.start(stage.cluster)
})

type Root = ReturnType<typeof installation>
type Rows = Readonly<Record<string, readonly [(name: string) => Root, ExpectedFailure]>>

/** An installation of these files; a blueprint that is no text is written as JSON. */
function files(name: string, filesystem: unknown): Root {
  const root = installation(name, [])
  return { ...root, spec: { ...root.spec, blueprint: { inline: { filesystem } } } } as Root
}

/** Items as they are, without a template's words. */
const items =
  (...list: readonly object[]) =>
  (name: string) =>
    importingInstallation(name, {
      blueprint: { deployExecutions: [{ name: 'items', type: 'Spiff', template: { deployItems: list } }] },
    })

const blueprint = (more: object) => (name: string) => importingInstallation(name, { blueprint: more })

const untemplated = (...says: ExpectedFailure['says']): ExpectedFailure => ({ reason: 'TemplatingFailed', says })
const offSchema = (...says: ExpectedFailure['says']): ExpectedFailure => ({ reason: 'SchemaValidationFailed', says })

const BLUEPRINTS: Rows = {
  'is no YAML': [
    (name) => files(name, { 'blueprint.yaml': 'kind: Blueprint\nimports: [\n' }),
    configurationProblem('blueprint.yaml, line'),
  ],
  'is a bomb of aliases': [
    (name) => files(name, { 'blueprint.yaml': BOMB }),
    configurationProblem('blueprint.yaml', 'aliases'),
  ],
  'is no map': [
    (name) => files(name, { 'blueprint.yaml': '- a\n- b\n' }),
    configurationProblem('blueprint.yaml', 'found a list'),
  ],
  'is a number': [
    (name) => files(name, { 'blueprint.yaml': 5 }),
    configurationProblem('blueprint.yaml', 'found a number'),
  ],
  'is not there': [
    (name) => files(name, { 'blueprint.yml': 'kind: Blueprint' }),
    configurationProblem('filesystem: found blueprint.yml, expected a file blueprint.yaml'),
  ],
  'is in a text that is no YAML': [(name) => files(name, 'a: [b'), configurationProblem('filesystem', 'line 1')],
  'is in a text that is a bomb': [(name) => files(name, BOMB), configurationProblem('filesystem', 'aliases')],
  'leaves its directory': [
    (name) => files(name, { '../blueprint.yaml': '' }),
    configurationProblem('leaves the blueprint'),
  ],
  'is of another kind': [blueprint({ kind: 'Chart' }), configurationProblem('kind', 'found Chart, expected Blueprint')],
  'has fields of other types': [
    blueprint({ imports: 'all', deployExecutions: {} }),
    configurationProblem('imports: found a string'),
  ],
  'has an import twice': [
    blueprint({ imports: [dataImport('a', {}), dataImport('a', {})] }),
    configurationProblem('imports[1]', 'a'),
  ],
  'has an import without a schema': [
    (name) =>
      importingInstallation(name, {
        imports: [{ name: 'size', dataRef: 'size' }],
        blueprint: { imports: [{ name: 'size', type: 'data' }] },
      }),
    offSchema('import size', 'schema'),
  ],
  'has a sub-installation in a file that is not there': [
    blueprint({ subinstallations: [{ file: 'sub.yaml' }] }),
    configurationProblem('subinstallations[0]', 'found no file sub.yaml'),
  ],
}

// Which bound is met first depends on how busy the machine is.
const OUT_OF_BOUNDS = /template "items": (needed more memory than|not rendered within|its output is larger than)/

const TEMPLATES: Rows = {
  'does not parse': [rendering('deployItems:\n{{ if }}\n'), untemplated('template: items:2', '> 2 | {{ if }}')],
  fails: [rendering('a: b\nc: {{ index .imports.nothing 1 }}\n'), untemplated('> 2 | c: {{ index', 'input: ')],
  'fails on purpose': [rendering('{{ fail "no disk is large enough" }}'), untemplated('no disk is large enough')],
  'is in a file that is not there': [
    blueprint({ deployExecutions: [{ name: 'items', type: 'GoTemplate', file: 'items.tpl' }] }),
    configurationProblem('template "items": found no file items.tpl in the blueprint'),
  ],
  'includes a file that is not there': [rendering('{{ include "part.tpl" . }}'), untemplated('part.tpl')],
  'has neither file nor text': [
    blueprint({ deployExecutions: [{ name: 'items', type: 'GoTemplate' }] }),
    configurationProblem('deployExecutions[0]: found neither file nor template'),
  ],
  'is of an unknown type': [
    rendering('a: b', 'Jinja'),
    configurationProblem('template "items": found type Jinja, expected GoTemplate or Spiff'),
  ],
  'is a map, yet a Go template': [rendering({ deployItems: [] }), configurationProblem('found a map, expected text')],
  'renders no YAML': [rendering('deployItems:\n- name: a\n\ttype: b\n'), untemplated('> 3 |')],
  'renders a bomb of aliases': [rendering(BOMB), untemplated('aliases')],
  'renders a list': [rendering('- a\n'), untemplated('"items"', 'a list')],
  'renders no value': [rendering('deployItems:\n- name: {{ .imports.nothing }}\n'), untemplated('no value', 'line 2')],
  'renders items that are a map': [
    rendering('deployItems: {a: b}'),
    configurationProblem('deployItems: found a map, expected a list'),
  ],
  'calls itself for ever': [
    rendering('{{ define "x" }}{{ template "x" }}{{ end }}{{ template "x" }}'),
    untemplated('items'),
  ],
  loops: [
    rendering('{{ range $i := until 60000 }}{{ range until 60000 }}{{ end }}{{ end }}'),
    untemplated(OUT_OF_BOUNDS),
  ],
  'fills memory': [
    rendering('{{ $x := list "a" }}{{ range until 40 }}{{ $x = concat $x $x }}{{ end }}'),
    untemplated(OUT_OF_BOUNDS),
  ],
  'prints gigabytes': [
    rendering('{{ range until 60000 }}{{ repeat 60000 "x" }}{{ end }}'),
    untemplated('items', 'bytes'),
  ],
  'in Spiff does not parse': [rendering('deployItems: (( 1 + ))', 'Spiff'), untemplated('items')],
  'in Spiff names nothing': [rendering('deployItems: (( imports.nothing ))', 'Spiff'), untemplated('imports.nothing')],
  'in Spiff refers to itself': [
    rendering('deployItems: (( other ))\nother: (( deployItems ))', 'Spiff'),
    untemplated('items'),
  ],
  'in Spiff loops': [
    rendering('a: (( sum[[1..60000]|0|s,i|->s + sum[[1..60000]|0|t,j|->t + j]] ))', 'Spiff'),
    untemplated(OUT_OF_BOUNDS),
  ],
  'in Spiff fills memory': [rendering('a: (( [1..200000000] ))', 'Spiff'), untemplated(OUT_OF_BOUNDS)],
  'in Spiff is a bomb of aliases': [rendering(BOMB, 'Spiff'), untemplated(OUT_OF_BOUNDS)],
}

const IMPORTS: Rows = {
  'a Secret that is a bomb of aliases': [
    (name) => importingInstallation(name, { imports: [{ name: 'bomb', secretRef: { name: 'bombs', key: 'bomb' } }] }),
    configurationProblem('spec.imports.data[0] "bomb"', 'Secret bad-input/bombs', 'key bomb', 'aliases'),
  ],
  'a ConfigMap with a bomb among its keys': [
    (name) => importingInstallation(name, { imports: [{ name: 'bomb', configMapRef: { name: 'bombs' } }] }),
    configurationProblem('spec.imports.data[0] "bomb"', 'ConfigMap bad-input/bombs', 'key bomb', 'aliases'),
  ],
  'a value whose schema is none': [
    (name) =>
      importingInstallation(name, {
        imports: [{ name: 'size', dataRef: 'size' }],
        blueprint: { imports: [dataImport('size', { type: 'whole' })] },
      }),
    offSchema('size', 'schema'),
  ],
  'a value whose schema refers to nothing': [
    (name) =>
      importingInstallation(name, {
        imports: [{ name: 'size', dataRef: 'size' }],
        blueprint: { imports: [dataImport('size', { $ref: 'local://nothing' })] },
      }),
    offSchema('size', 'local://nothing'),
  ],
  'a value by a schema that never ends': [
    (name) =>
      importingInstallation(name, {
        imports: [{ name: 'text', dataRef: 'text' }],
        blueprint: { imports: [dataImport('text', { type: 'string', pattern: '^(([a-z])+.)+[A-Z]([a-z])+$' })] },
      }),
    offSchema('text'),
  ],
  'a default that is not of its schema': [
    blueprint({ imports: [dataImport('size', { type: 'integer' }, { required: false, default: { value: 'large' } })] }),
    { reason: 'InvalidDefaultValue', says: ['size', 'integer'] },
  ],
  'a Context that is not there': [
    (name) => importingInstallation(name, { spec: { context: 'nowhere' } }),
    { reason: 'ContextNotFound', says: ['spec.context names context bad-input/nowhere; there is none'] },
  ],
  'a DataObject in another namespace': [
    (name) => importingInstallation(name, { imports: [{ name: 'size', dataRef: '../default/size' }] }),
    { reason: 'ImportNotFound', says: ['spec.imports.data[0] "size"'] },
  ],
  'a mapping that fails': [
    (name) => importingInstallation(name, { spec: { importDataMappings: { size: '(( nothing.at.all ))' } } }),
    untemplated('size'),
  ],
}

// The CRDs accept these, as Landscaper's do; without a webhook the job reports them.
const SPECS: Rows = {
  'exports without names': [
    (name) =>
      importingInstallation(name, {
        spec: { exports: { data: [{ name: '', dataRef: '' }], targets: [{ name: 'made' }] } },
      }),
    configurationProblem(
      'spec.exports.data[0].name: found nothing',
      'spec.exports.data[0].dataRef',
      'spec.exports.targets[0].target',
    ),
  ],
  'an import without a name and a source': [
    (name) => importingInstallation(name, { spec: { imports: { data: [{ name: '', dataRef: '' }] } } }),
    configurationProblem('spec.imports.data[0]: found no name', 'found no source, expected exactly one of dataRef'),
  ],
  'an import of a Target without a name': [
    (name) => importingInstallation(name, { spec: { imports: { targets: [{ name: 'places', targets: [''] }] } } }),
    configurationProblem('spec.imports.targets[0] "places": targets[0]: found nothing, expected the name of an object'),
  ],
  'a component without a name': [
    (name) =>
      importingInstallation(name, { spec: { componentDescriptor: { ref: { componentName: '', version: '' } } } }),
    configurationProblem(
      'spec.componentDescriptor.ref.componentName: found nothing',
      'spec.componentDescriptor.ref.version',
    ),
  ],
  'two sources of its blueprint': [
    (name) => {
      const root = importingInstallation(name, {})
      const { blueprint } = root.spec
      return { ...root, spec: { ...root.spec, blueprint: { ...blueprint, ref: { resourceName: '' } } } } as Root
    },
    configurationProblem('spec.blueprint: found ref and inline, expected one of ref, inline'),
  ],
}

const mock = (name: string, more: object = {}) => ({ ...item({ name }), ...more })

const ITEMS: Rows = {
  'without a name': [items(mock('')), configurationProblem('deploy item 1: found no name')],
  'of one name': [items(mock('twin'), mock('twin')), configurationProblem('deploy item twin: the name occurs twice')],
  'of one name and many': [
    items(...Array.from({ length: 400 }, () => mock('twin'))),
    configurationProblem('deploy item twin', /and 3\d\d more$/),
  ],
  'without a type': [items({ ...mock('a'), type: '' }), configurationProblem('deploy item a: type: found nothing')],
  'without a configuration': [
    items({ name: 'a', type: mock('a').type }),
    configurationProblem('deploy item a: found no config'),
  ],
  'with a text for a configuration': [
    items({ ...mock('a'), config: 'none' }),
    configurationProblem('deployItems[0].config: found a string'),
  ],
  'that depend on nobody': [
    items(mock('a', { dependsOn: ['b'] })),
    configurationProblem('deploy item a: depends on b, but there is no item of that name'),
  ],
  'with a time-out that is none': [
    items(mock('a', { timeout: 'soon' })),
    configurationProblem('deploy item a: timeout: found no duration'),
  ],
  'with a time-out that is a number': [
    items(mock('a', { timeout: 10 })),
    configurationProblem('deployItems[0].timeout: found a number'),
  ],
  'with a negative time-out': [items(mock('a', { timeout: '-5m' })), configurationProblem('deploy item a: timeout')],
  'with a target that nothing imports': [
    items(mock('a', { target: { import: 'cluster' } })),
    configurationProblem('deployItems[0].target', 'cluster'),
  ],
  'with a target in another namespace': [
    items(mock('a', { target: { name: 'a', namespace: 'kube-system' } })),
    configurationProblem('deployItems[0].target: found a target in namespace kube-system, expected one in bad-input'),
  ],
  'with a label that is none': [
    items(mock('a', { labels: { 'a b': 'c' } })),
    configurationProblem('deploy item a: labels.a b: found no key of a label'),
  ],
  'with a label whose value is none': [
    items(mock('a', { labels: { tier: 'a/b c' } })),
    configurationProblem('deploy item a: labels.tier: found no value of a label'),
  ],
  'with a label that is a number': [
    items(mock('a', { labels: { tier: 1 } })),
    configurationProblem('deployItems[0].labels.tier', 'found a number'),
  ],
  'with a name that is no label': [
    items(mock('ä b')),
    configurationProblem('deploy item ä b: name: found other characters, expected lower-case'),
  ],
  'with a name that is too long': [
    items(mock('a'.repeat(64))),
    configurationProblem('deploy item aaa', 'name: found 64 characters, expected at most 63'),
  ],
  'with a comma in their name': [
    items(mock('a,b'), mock('c', { dependsOn: ['a,b'] })),
    configurationProblem('deploy item a,b: name: found other characters'),
  ],
  'with a configuration without a kind': [
    items({ ...mock('a'), config: { phase: 'Succeeded' } }),
    configurationProblem('deploy item a: config.apiVersion: found nothing', 'config.kind'),
  ],
}

// Each is over what the API server takes: a value that its copy as JSON makes twice as large, items that no compression makes smaller.
const SIZES: Rows = {
  'an import whose copy is too large': [
    (name) =>
      importingInstallation(name, {
        imports: [{ name: 'quotes', secretRef: { name: 'quotes', key: 'quotes' } }],
        blueprint: { imports: [dataImport('quotes', {})] },
      }),
    { reason: 'RequestEntityTooLarge', says: ['DataObject', '("quotes")', 'usually 1.5 MB'] },
  ],
  'items that are too large for an Execution': [
    (name) => {
      const imports = ['noise-1', 'noise-2']
      const template = `deployItems: [{name: a, type: x, config: {apiVersion: v1, kind: x, a: {{ index .imports "noise-1" }}{{ index .imports "noise-2" }}}}]`
      return importingInstallation(name, {
        imports: imports.map((dataRef) => ({ name: dataRef, dataRef })),
        blueprint: {
          imports: imports.map((one) => dataImport(one, {})),
          deployExecutions: [{ name: 'items', type: 'GoTemplate', template }],
        },
      })
    },
    { reason: 'RequestEntityTooLarge', says: ['executions', 'usually 1.5 MB'] },
  ],
}

const kinds = [
  ['a blueprint that', 'blueprint', BLUEPRINTS],
  ['a template that', 'template', TEMPLATES],
  ['an import of', 'import', IMPORTS],
  ['a spec that has', 'spec', SPECS],
  ['items', 'items', ITEMS],
  ['an object:', 'size', SIZES],
] as const

describe.concurrent('an installation that cannot be rendered', () => {
  const all = kinds.flatMap(([what, prefix, table]) =>
    Object.entries(table).map(([title, [root, ending]], index) => {
      const name = `${prefix}-${index}`
      return { title: `${what} ${title}`, root: root(name), ending }
    }),
  )
  // A template that reaches a limit occupies a thread for up to ten seconds.
  const isExpensive = ({ ending }: (typeof all)[number]) => ending.says.includes(OUT_OF_BOUNDS)
  const rows = [
    ...sampleOf(
      'mistakes in installations',
      all.filter((row) => !isExpensive(row)),
      24,
    ),
    ...sampleOf('templates that reach a limit', all.filter(isExpensive), 2),
  ]

  // All rows run at the same time, so that each of them could disturb all others.
  beforeAll(async () => {
    const { cluster } = stage
    await cluster.create(secret('bombs', { bomb: BOMB }), 'secrets')
    await cluster.create(secret('quotes', { quotes: `'${'"'.repeat(900_000)}'` }), 'secrets')
    for (const name of ['noise-1', 'noise-2']) {
      await cluster.create(dataObject(name, randomBytes(900_000).toString('base64')), 'dataobjects')
    }
    await cluster.create(configMap('bombs', { bomb: BOMB, fine: 'x' }), 'configmaps')
    await cluster.create(dataObject('size', 5), 'dataobjects')
    await cluster.create(dataObject('text', `${'a'.repeat(60)}!`), 'dataobjects')
    await Promise.all(rows.map(({ root }) => cluster.create(root, 'installations')))
  })

  it.each(rows)(
    'for $title fails, says why, and succeeds once it is mended',
    async ({ root, ending }) => {
      const { cluster } = stage
      const { name } = root.metadata
      // Templates that loop or fill memory share few threads for ten seconds each. On a busy machine an activity may time out before its template runs.
      const failed = await cluster.waitUntilFinished(name, undefined, 'installations', 2 * 90_000)
      const mended = await fixBlueprint(cluster, failed)
      expect(mended.status).toMatchObject({ phase: 'Succeeded' })
      expect(mended.status?.lastError).toBeUndefined()
      expectFailure(failed, ending)
    },
    300_000,
  )
})

describe('the worker after all mistakes', () => {
  it('is still the same process, has logged no warning about itself, and has run the jobs of a healthy installation', async () => {
    expect(await neighbour.stop()).toBeGreaterThan(1)
    expect(stage.pawl.child('worker').exitCode).toBeNull()
    expect(loggedProblems(stage.pawl, 'worker')).toEqual([])
    expect(loggedProblems(stage.pawl, 'bridge')).toEqual([])
  })
})
