// Tables of mistakes of users in Installations, by their place, with the errors of the jobs. Unit tests of
// activities/landscaper show the other mistakes; here is one mistake for each way of an error into the status, and each
// mistake that could disturb other jobs. Source: spec/landscaper.md 2.3 "Init", 3, 5.3.

import { installation, item } from '../cluster/cluster.ts'
import { BOMB, configurationProblem, dataImport, type ExpectedFailure, rendering } from './bad-input.ts'
import { importingInstallation } from './imports.ts'

type Root = ReturnType<typeof installation>
type Rows = Readonly<Record<string, readonly [(name: string) => Root, ExpectedFailure]>>

/** An installation of these files; a blueprint that is no text is written as JSON. */
function files(name: string, filesystem: unknown): Root {
  const root = installation(name, [])
  return { ...root, spec: { ...root.spec, blueprint: { inline: { filesystem } } } } as Root
}

/** Items as they are, without a template's words. */
export const items =
  (...list: readonly object[]) =>
  (name: string) =>
    importingInstallation(name, {
      blueprint: { deployExecutions: [{ name: 'items', type: 'Spiff', template: { deployItems: list } }] },
    })

const blueprint = (more: object) => (name: string) => importingInstallation(name, { blueprint: more })

const untemplated = (...says: ExpectedFailure['says']): ExpectedFailure => ({ reason: 'TemplatingFailed', says })

const BLUEPRINTS: Rows = {
  'is no YAML': [
    (name) => files(name, { 'blueprint.yaml': 'kind: Blueprint\nimports: [\n' }),
    configurationProblem('blueprint.yaml, line'),
  ],
  'is a bomb of aliases': [
    (name) => files(name, { 'blueprint.yaml': BOMB }),
    configurationProblem('blueprint.yaml', 'aliases'),
  ],
  'has a sub-installation in a file that is not there': [
    blueprint({ subinstallations: [{ file: 'sub.yaml' }] }),
    configurationProblem('subinstallations[0]: file: no file "sub.yaml" in the blueprint; add it or correct the path'),
  ],
}

// Which bound is met first depends on how busy the machine is.
export const OUT_OF_BOUNDS = /template "items": (needed more memory than|not rendered within|its output is larger than)/

const TEMPLATES: Rows = {
  'does not parse': [rendering('deployItems:\n{{ if }}\n'), untemplated('template: items:2', '> 2 | {{ if }}')],
  'renders a bomb of aliases': [rendering(BOMB), untemplated('aliases')],
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
    configurationProblem(
      'spec.imports.data[0] "bomb": Secret "bad-input/bombs": key "bomb" is not valid YAML: line ',
      'aliases',
    ),
  ],
  'a Context that is not there': [
    (name) => importingInstallation(name, { spec: { context: 'nowhere' } }),
    { reason: 'ContextNotFound', says: ['spec.context: Context "bad-input/nowhere" does not exist; create it'] },
  ],
}

// The CRDs accept these, like the CRDs of Landscaper; without a webhook the job reports them.
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
  'a component without a name': [
    (name) =>
      importingInstallation(name, { spec: { componentDescriptor: { ref: { componentName: '', version: '' } } } }),
    configurationProblem(
      'spec.componentDescriptor.ref.componentName: found nothing',
      'spec.componentDescriptor.ref.version',
    ),
  ],
}

const mock = (name: string, more: object = {}) => ({ ...item({ name }), ...more })

const ITEMS: Rows = {
  'without a name': [items(mock('')), configurationProblem('deploy item 1: name is missing; add it')],
  'of one name and many': [
    items(...Array.from({ length: 400 }, () => mock('twin'))),
    configurationProblem('deploy item "twin": ', /and 3\d\d more$/),
  ],
}

// Each is larger than the limit of the API server: a value whose copy as JSON is twice as large, and items that
// compression does not shrink.
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

const TABLES = [
  ['a blueprint that', BLUEPRINTS],
  ['a template that', TEMPLATES],
  ['an import of', IMPORTS],
  ['a spec that has', SPECS],
  ['items', ITEMS],
  ['an object:', SIZES],
] as const

interface BadInstallation {
  readonly title: string
  readonly root: Root
  readonly ending: ExpectedFailure
}

export const BAD_INSTALLATIONS: readonly BadInstallation[] = TABLES.flatMap(([what, table]) =>
  Object.entries(table).map(([title, row]) => [`${what} ${title}`, ...row] as const),
).map(([title, root, ending], index) => ({ title, root: root(`bad-${index}`), ending }))
