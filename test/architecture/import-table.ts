// The import table of docs/adr/0002 and the design, as data: each row is a sentence and what it lets pass.
// The first row that a module matches is its row; a module without a row is itself a violation.

import type { ModuleImport, SourceModule } from './source-module.ts'

export interface Row {
  /** Reads on from "a module of ...". */
  readonly sentence: string
  readonly of: RegExp
  /** Paths that may be imported; `$1` stands for the first group of `of`. */
  readonly may: readonly string[]
  /** Paths of which types may be imported in addition. */
  readonly mayType?: readonly string[]
  /** Packages and Node's built-ins of which values may be imported; types of packages may be by anyone. */
  readonly packages: RegExp
}

const NONE = /^$/
const ANY = /./
const KIT = '^workflows/kit/index\\.ts$'
const KINDS = '^workflows/[^/]+/kind\\.ts$'
const DEPS = '^activities/deps\\.ts$'

export const TABLE: readonly Row[] = [
  {
    sentence: 'the DSL imports nothing but the DSL',
    of: /^workflows\/kit\/dsl\//,
    may: ['^workflows/kit/dsl/'],
    packages: NONE,
  },
  {
    sentence: 'the three files of the kit that know Temporal import the kit and Temporal',
    of: /^workflows\/kit\/(?:temporal|reconcile-loop|level-loop)\.ts$/,
    may: ['^workflows/kit/(?!dsl/)'],
    packages: /^@temporalio\/workflow$/,
  },
  {
    sentence: 'the kit imports nothing but the kit, free of Temporal',
    of: /^workflows\/kit\//,
    may: ['^workflows/kit/(?!dsl/|temporal\\.ts|reconcile-loop\\.ts|level-loop\\.ts)'],
    packages: NONE,
  },
  {
    sentence: "the workflows' index exports workflows",
    of: /^workflows\/index\.ts$/,
    may: ['^workflows/[^/]+/workflow\\.ts$'],
    packages: NONE,
  },
  {
    sentence: "a kind's workflow.ts imports its folder, the kit, the loop, and other kinds' definitions",
    of: /^workflows\/([^/]+)\/workflow\.ts$/,
    may: ['^workflows/$1/', KIT, '^workflows/kit/reconcile-loop\\.ts$', KINDS],
    mayType: ['^activities/'],
    packages: NONE,
  },
  {
    sentence: "a kind's folder imports itself, the kit, and other kinds' definitions; of activities only types",
    of: /^workflows\/([^/]+)\//,
    may: ['^workflows/$1/(?!workflow\\.ts)', KIT, KINDS],
    mayType: ['^activities/'],
    packages: NONE,
  },
  {
    sentence: "activities' index imports the activity folders",
    of: /^activities\/(?:index|deps)\.ts$/,
    may: ['^activities/', KIT, KINDS],
    packages: ANY,
  },
  {
    sentence: "a controller's activities import rendering, kube and the journal",
    of: /^activities\/(installation|execution)\//,
    may: ['^activities/(?:$1|render|kube|journal)/', DEPS, KIT, KINDS],
    packages: ANY,
  },
  {
    sentence: 'the migrator imports the migrations',
    of: /^activities\/journal\/migrate\.ts$/,
    may: ['^activities/(?:kube|journal)/', '^migrations/', DEPS, KIT, KINDS],
    packages: ANY,
  },
  {
    sentence: "an activity folder imports itself, kube and the journal, the kit and kinds' definitions",
    of: /^activities\/([^/]+)\//,
    may: ['^activities/(?:$1|kube|journal)/', DEPS, KIT, KINDS],
    packages: ANY,
  },
  {
    sentence: 'the command line imports the processes and their parts, activities, and of kinds what is pure',
    of: /^worker\/(?:pawl\.js|cli\.ts|cli\/)/,
    may: ['^worker/', '^activities/', KIT, '^workflows/[^/]+/(?:kind|plan|routes)\\.ts$'],
    packages: ANY,
  },
  {
    sentence: 'the development set-up imports its folder, the shared files, and the migrations that it runs at start',
    of: /^worker\/dev(?:\/|\.)/,
    may: ['^worker/dev(?:/|\\.)', '^worker/(?:config|controllers|log|migrate)\\.ts$', '^activities/', KIT],
    packages: ANY,
  },
  {
    sentence: 'a process imports its own folder, the files that processes share, activities, and of kinds what is pure',
    of: /^worker\/([^/.]+)(?:\/|\.)/,
    may: [
      '^worker/$1/',
      '^worker/$1\\.(?:ts|js)$',
      '^worker/(?:config|controllers|log)\\.ts$',
      '^activities/',
      KIT,
      '^workflows/kit/dsl/index\\.ts$',
      '^workflows/[^/]+/(?:kind|plan|routes)\\.ts$',
    ],
    packages: ANY,
  },
  {
    sentence: 'migrations import kysely and nothing of ours',
    of: /^migrations\//,
    may: [],
    packages: /^kysely(?:\/|$)/,
  },
  {
    sentence: 'examples import the published kit, and packages that are pure',
    of: /^examples\//,
    may: ['^examples/'],
    packages: /^(?:pawl\/kit(?:\/|$)|croner$)/,
  },
]

/** What is wrong with a module's imports, one sentence each; nothing when it obeys its row. */
export function importViolations(module: SourceModule, table: readonly Row[] = TABLE): string[] {
  const row = rowOf(module, table)
  if (row === undefined) return [`${module.path} has no row in the import table`]
  const own = row.of.exec(module.path)?.[1] ?? ''
  return module.imports
    .filter((found) => !isAllowed(found, row, own))
    .map(({ specifier, typeOnly }) => `${module.path} imports ${typeOnly ? 'types of ' : ''}${specifier}`)
}

/** The row that a module has to obey. */
export function rowOf(module: SourceModule, table: readonly Row[] = TABLE): Row | undefined {
  return table.find(({ of }) => of.test(module.path))
}

function isAllowed({ specifier, target, typeOnly }: ModuleImport, row: Row, own: string): boolean {
  if (target === undefined) return typeOnly || row.packages.test(specifier)
  const patterns = typeOnly ? [...row.may, ...(row.mayType ?? [])] : row.may
  return patterns.some((pattern) => new RegExp(pattern.replaceAll('$1', own)).test(target))
}

/** Each import cycle once, as `a -> b -> a`; types count, because they tie modules together just as well. */
export function importCycles(modules: readonly SourceModule[]): string[] {
  const targets = new Map(modules.map(({ path, imports }) => [path, imports.flatMap(({ target }) => target ?? [])]))
  const finished = new Set<string>()
  const cycles: string[] = []
  const walk = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path)
    if (start !== -1) cycles.push([...trail.slice(start), path].join(' -> '))
    if (start !== -1 || finished.has(path)) return
    for (const target of targets.get(path) ?? []) walk(target, [...trail, path])
    finished.add(path)
  }
  for (const { path } of modules) walk(path, [])
  return cycles
}

/** All modules that a module needs at run time, itself included. */
export function runtimeClosure(modules: readonly SourceModule[], from: string): ReadonlySet<string> {
  const byPath = new Map(modules.map((module) => [module.path, module]))
  const reached = new Set<string>()
  const walk = (path: string): void => {
    if (reached.has(path)) return
    reached.add(path)
    for (const { target, typeOnly } of byPath.get(path)?.imports ?? []) {
      if (target !== undefined && !typeOnly) walk(target)
    }
  }
  walk(from)
  return reached
}
