// `pawl gen new`: writes the folder of a new kind and its test. The result compiles, its plan runs, and comments explain each file.

import { existsSync } from 'node:fs'
import { join } from 'node:path'

import { compile } from '../../workflows/kit/dsl/index.ts'
import { type KindNames, skeleton, TSCONFIG } from './new-kind/skeleton.ts'
import { type GeneratedFiles, writeFiles } from './output.ts'

export interface GenNewOptions {
  /** The checkout, or the folder of a project, to write to. */
  readonly root: string
  /** `checkout`: a kind of Pawl. `project`: a folder with its test that imports the published kit. */
  readonly layout: 'checkout' | 'project'
  /** Name of the kind, in PascalCase. */
  readonly kind: string
  readonly group: string
  /** The wing in a checkout. Default: the first label of the group. */
  readonly wing?: string | undefined
  readonly print: (line: string) => void
  readonly complain: (line: string) => void
}

const KIND = /^[A-Z][A-Za-z0-9]{0,62}$/
const WING = /^[a-z][a-z0-9-]{0,62}$/
const GROUP = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+$/
// Other folders of workflows/, and names that the skeleton uses.
const TAKEN: ReadonlySet<string> = new Set(['Kit', 'Index', 'ConfigMap', 'ObjectOf', 'Checked', 'Define', 'RunLevel'])
// In a checkout the kind is the name of a workflow function. Source: ECMA-262 "Keywords and Reserved Words", in modules.
const RESERVED: ReadonlySet<string> = new Set([
  ...[
    'arguments',
    'await',
    'break',
    'case',
    'catch',
    'class',
    'const',
    'continue',
    'debugger',
    'default',
    'delete',
    'do',
  ],
  ...['else', 'enum', 'eval', 'export', 'extends', 'false', 'finally', 'for', 'function', 'if', 'implements', 'import'],
  ...['in', 'instanceof', 'interface', 'let', 'new', 'null', 'package', 'private', 'protected', 'public', 'return'],
  ...['static', 'super', 'switch', 'this', 'throw', 'true', 'try', 'typeof', 'var', 'void', 'while', 'with', 'yield'],
])

/** @returns the exit code: 0, or 2 when a name is wrong or a folder exists. */
export async function genNew({
  root,
  layout,
  kind,
  group,
  wing = group.split('.')[0] ?? '',
  print,
  complain,
}: GenNewOptions): Promise<0 | 2> {
  const names = { ...namesOf(kind, group, layout === 'checkout' ? wing : undefined), root }
  const problem = nameProblem(kind, group, wing) ?? workflowProblem(names) ?? folderProblem(root, names)
  if (problem !== undefined) {
    complain(`gen new: ${problem}`)
    return 2
  }
  const files = new Map(skeleton(names))
  const source = 'controller.cm'
  const { code } = compile(files.get(`${names.folder}/${source}`) ?? '', { source, kit: names.kit })
  if (code === undefined) {
    complain(`gen new: kind '${kind}' already exists; choose another name`)
    return 2
  }
  files.set(`${names.folder}/controller.gen.ts`, code)
  for (const [path, text] of projectFiles(root, layout)) files.set(path, text)
  await write(root, files)
  const shown = (path: string) => (layout === 'project' ? join(root, path) : path)
  for (const path of [...files.keys()].sort()) print(`wrote ${shown(path)}`)
  const [definition, document] = [shown(`${names.folder}/kind.ts`), shown(`${names.folder}/${source}`)]
  print(`next: edit ${definition} and ${document}, then run \`pawl gen${layout === 'project' ? ` ${document}` : ''}\``)
  return 0
}

/** Files that a project has once. */
function projectFiles(root: string, layout: GenNewOptions['layout']): readonly (readonly [string, string])[] {
  return layout === 'checkout' || existsSync(join(root, 'tsconfig.json')) ? [] : [['tsconfig.json', TSCONFIG]]
}

function nameProblem(kind: string, group: string, wing: string): string | undefined {
  if (!KIND.test(kind))
    return `kind: found '${kind}'; expected at most 63 letters and digits, with a capital letter first`
  if (TAKEN.has(kind)) return `kind: '${kind}' is a name of the kit; choose another name`
  if (!GROUP.test(group)) return `group: found '${group}'; expected a domain, such as example.com`
  return WING.test(wing) && wing !== 'kit'
    ? undefined
    : `wing: found '${wing}'; expected lower-case letters, digits and dashes, other than kit`
}

function workflowProblem({ layout, kind, value }: KindNames): string | undefined {
  if (layout === 'project' || !RESERVED.has(value)) return undefined
  return `kind: found '${kind}', whose workflow would have the reserved name '${value}'; choose another name`
}

function folderProblem(root: string, { folder, testFolder }: KindNames): string | undefined {
  const found = [folder, testFolder].find((path) => existsSync(join(root, path)))
  return found === undefined
    ? undefined
    : `${found} already exists, and pawl gen new overwrites no files; choose another kind, or delete the file`
}

/** @param wing undefined in a project. */
function namesOf(kind: string, group: string, wing: string | undefined): Omit<KindNames, 'root'> {
  const folder = kind
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1-$2')
    .toLowerCase()
  return {
    kind,
    value: folder.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase()),
    group,
    singular: kind.toLowerCase(),
    plural: pluralOf(kind.toLowerCase()),
    ...(wing === undefined
      ? { layout: 'project', folder, testFolder: folder, kit: 'pawl/kit' }
      : {
          layout: 'checkout',
          kit: '../../kit/index.ts',
          folder: `workflows/${wing}/${folder}`,
          testFolder: `test/workflows/${wing}/${folder}`,
        }),
  }
}

function pluralOf(singular: string): string {
  if (/[^aeiou]y$/.test(singular)) return `${singular.slice(0, -1)}ies`
  return /(?:s|x|z|ch|sh)$/.test(singular) ? `${singular}es` : `${singular}s`
}

async function write(root: string, files: GeneratedFiles): Promise<void> {
  await writeFiles(
    root,
    files,
    [...files.keys()].map((path) => ({ path, state: 'missing', detail: '' })),
  )
}
