// The import table of docs/adr/0002 and the design, as data: each row has a rule as a sentence, and the imports that it
// permits. The first row that matches a module applies. A module without a row is a violation.

import { ANY, DEPS, KIT, NONE, type Row, WING } from './import-row.ts'
import type { ModuleImport, SourceModule } from './source-module.ts'
import { WING_PROGRAM_ROWS } from './wing-program-rows.ts'

/** Processes that may read no other module of the kit load this module, too. */
const KIT_LEAVES = '^workflows/kit/kind/(?:exact-json|json-fields|shorten-list)\\.ts$'
/** Modules of the kit that do not import Temporal and run in the sandbox. */
const PURE_KIT = '^workflows/kit/(?!dsl/|run/loop/|testing/)'
const RUNS = '^workflows/kit/run/loop/index\\.ts$'

/** The kinds whose jobs a kind hosts, by their folders. architecture.test.ts compares them with the controllers. */
export const HOSTED: Readonly<Record<string, readonly string[]>> = {
  installation: ['execution'],
  execution: ['deploy-item'],
}
/** The pure modules of the kinds that a kind hosts. */
const HOSTED_KINDS = '^workflows/$1/$hosted/(?!(?:workflow|jobs|controller)\\.ts$)[^/]+\\.ts$'
/** The modules that run the jobs of these kinds. */
const HOSTED_JOBS = '^workflows/$1/$hosted/jobs\\.ts$'

export const TABLE: readonly Row[] = [
  {
    sentence: 'the DSL imports nothing but the DSL, which words are near each other, and what jobs may ask for',
    of: /^workflows\/kit\/dsl\//,
    may: ['^workflows/kit/dsl/', '^workflows/kit/kind/near-words\\.ts$', '^workflows/kit/run/job/job-query\\.ts$'],
    packages: NONE,
  },
  {
    sentence: 'the files of the kit that know Temporal import what is pure of the kit, each other, and Temporal',
    of: /^workflows\/kit\/run\/loop\/(?:temporal|loop|deadlines|replay-listener|recording)\.ts$/,
    may: [PURE_KIT, '^workflows/kit/run/loop/(?:temporal|loop|deadlines|replay-listener)\\.ts$'],
    packages: /^@temporalio\/workflow$/,
  },
  {
    sentence: 'the runs of the kit import the kit, and Temporal only through those',
    of: /^workflows\/kit\/run\/loop\//,
    may: [PURE_KIT, '^workflows/kit/run/loop/'],
    packages: NONE,
  },
  {
    sentence: 'what the kit says of kinds imports nothing else of the kit',
    of: /^workflows\/kit\/kind\//,
    may: ['^workflows/kit/kind/'],
    packages: NONE,
  },
  {
    sentence: 'what the kit says of plans imports nothing else of the kit',
    of: /^workflows\/kit\/plan\//,
    may: ['^workflows/kit/plan/'],
    packages: NONE,
  },
  {
    sentence: 'what the kit has for tests imports the kit, which does not import it',
    of: /^workflows\/kit\/testing\//,
    may: [PURE_KIT, '^workflows/kit/testing/'],
    packages: NONE,
  },
  {
    sentence: 'the kit imports nothing but the kit, free of Temporal',
    of: /^workflows\/kit\//,
    may: [PURE_KIT],
    packages: NONE,
  },
  {
    sentence: "the workflows' index exports workflows, and the engine's own runs",
    of: /^workflows\/index\.ts$/,
    may: ['^workflows/(?!kit/)[^/]+/[^/]+/workflow\\.ts$', RUNS],
    packages: NONE,
  },
  {
    sentence: 'the registry of controllers imports the controllers',
    of: /^workflows\/controllers\.gen\.ts$/,
    may: ['^workflows/(?!kit/)[^/]+/[^/]+/(?:controller|declaration|kind)\\.ts$', KIT],
    packages: NONE,
  },
  {
    sentence: 'the registry of rules of admission imports these',
    of: /^workflows\/admission\.gen\.ts$/,
    may: ['^workflows/(?!kit/)[^/]+/[^/]+/admission\\.ts$', KIT],
    packages: NONE,
  },
  {
    sentence: 'the registry of what wings say of themselves imports just that',
    of: /^workflows\/wings\.gen\.ts$/,
    may: ['^workflows/(?!kit/)[^/]+/wing\\.ts$', KIT],
    packages: NONE,
  },
  {
    sentence: 'what all kinds of a wing have in common imports the kit, and packages that are pure',
    of: /^workflows\/([^/]+)\/[^/]+\.ts$/,
    may: [KIT, '^workflows/$1/[^/]+\\.ts$'],
    packages: /^croner$/,
  },
  {
    sentence:
      "a kind's workflow.ts imports its folder, the kit, its runs, what its wing has in common, and the kinds that it hosts with their jobs",
    of: /^workflows\/([^/]+)\/([^/]+)\/workflow\.ts$/,
    may: ['^workflows/$1/$2/', KIT, RUNS, WING, HOSTED_KINDS, HOSTED_JOBS],
    mayType: ['^activities/$1/', '^activities/(?:index|run/|kube/)'],
    packages: NONE,
  },
  {
    sentence: "how a kind's jobs run, in whatever run they are, imports what its workflow.ts may: no workflow",
    of: /^workflows\/([^/]+)\/([^/]+)\/jobs\.ts$/,
    may: ['^workflows/$1/$2/(?!workflow\\.ts)', KIT, RUNS, WING, HOSTED_KINDS, HOSTED_JOBS],
    mayType: ['^activities/$1/', '^activities/(?:index|run/|kube/)'],
    packages: NONE,
  },
  {
    sentence: 'a shared folder of a wing imports the kit and what its wing has in common: no controller',
    of: /^workflows\/([^/]+)\/(?:model|database|resources)\//,
    may: [KIT, WING],
    mayType: ['^workflows/kit/kind/kubernetes/'],
    packages: NONE,
  },
  {
    sentence:
      "a kind's folder imports itself, the kit, what its wing has in common, and the kinds that it hosts: no runs; of activities only types, and by a call those that its passes call",
    of: /^workflows\/([^/]+)\/([^/]+)\//,
    may: ['^workflows/$1/$2/(?!(?:workflow|jobs)\\.ts$)', KIT, WING, HOSTED_KINDS],
    mayType: ['^activities/$1/', '^activities/(?:index|run/|kube/)', '^workflows/kit/kind/kubernetes/'],
    mayCall: ['^activities/$1/(?!wing\\.ts$)'],
    packages: NONE,
  },
  {
    sentence:
      'what all activities need, and what a wing, a program, a command and a pod of one is to them, import the engine: no wing',
    of: /^activities\/(?:deps|wing|program|command|pods)\.ts$/,
    may: [
      '^activities/(?:kube|journal)/',
      '^activities/run/(?:in-flight-runs|preview|controller-observer|metrics|run-metrics|notifier)\\.ts$',
      DEPS,
      KIT,
    ],
    packages: ANY,
  },
  {
    sentence: "activities' index imports the engine's activities, and of wings the list that is generated",
    of: /^activities\/index\.ts$/,
    may: ['^activities/(?:run|kube|journal|yaml)/', '^activities/(?:wing|wings\\.gen)\\.ts$', DEPS, KIT],
    packages: ANY,
  },
  {
    sentence: "the list of wings imports each wing's one value",
    of: /^activities\/wings\.gen\.ts$/,
    may: ['^activities/[^/]+/wing\\.ts$'],
    packages: NONE,
  },
  ...WING_PROGRAM_ROWS,
  {
    sentence:
      'what a webhook looks up for a wing imports itself, what passes see and select of the same objects, the top of the wing and the engine',
    of: /^activities\/([^/]+)\/admission\//,
    may: [
      '^activities/$1/(?:admission/|[^/]+\\.ts$)',
      '^workflows/$1/[^/]+/(?:observed|selection)\\.ts$',
      ...['^activities/(?:run|kube|journal|yaml)/', DEPS, KIT, WING],
    ],
    mayType: ['^workflows/kit/kind/kubernetes/'],
    packages: ANY,
  },
  {
    sentence:
      'what a wing counts imports itself, when what its kinds ask for is due, the top of the wing and the engine',
    of: /^activities\/([^/]+)\/metrics\//,
    may: [
      '^activities/$1/(?:metrics/|[^/]+\\.ts$)',
      '^workflows/$1/[^/]+/times\\.ts$',
      ...['^activities/(?:run|kube|journal|yaml)/', DEPS, KIT, WING],
    ],
    packages: ANY,
  },
  {
    sentence: "a wing's value imports the wing, what a wing is, and the engine",
    of: /^activities\/([^/]+)\/wing\.ts$/,
    may: ['^activities/$1/', '^activities/(?:run|kube|journal|yaml)/', '^activities/wing\\.ts$', DEPS, KIT, WING],
    packages: ANY,
  },
  {
    sentence: 'the migrator imports the migrations',
    of: /^activities\/journal\/migrate\.ts$/,
    may: ['^activities/(?:kube|journal)/', '^migrations/', DEPS, KIT],
    packages: ANY,
  },
  {
    sentence: "the reader and the writer of YAML import each other and the kit's reader of numbers",
    of: /^activities\/yaml\//,
    may: ['^activities/yaml/', KIT_LEAVES],
    packages: /^(?:yaml|node:buffer)$/,
  },
  {
    sentence: 'the template engine imports itself',
    of: /^activities\/templates\//,
    may: ['^activities/templates/'],
    packages: /^node:(?:crypto|fs\/promises|util|wasi|zlib)$/,
  },
  {
    sentence: 'kube and the journal import each other and the kit: no wing',
    of: /^activities\/(?:kube|journal)\//,
    may: ['^activities/(?:kube|journal)/', DEPS, KIT],
    packages: ANY,
  },
  {
    sentence: "what every controller's pass does imports kube, the journal and the kit: no wing",
    of: /^activities\/run\//,
    may: ['^activities/(?:run|kube|journal|yaml)/', DEPS, KIT],
    packages: ANY,
  },
  {
    sentence: "what bounds the work on tenants' data imports what does the work, which is pure",
    of: /^activities\/([^/]+)\/bounded\//,
    may: [
      '^activities/$1/(?:bounded|render|deploy/(?:objects|target))/',
      '^activities/(?:kube/client\\.ts$|yaml/)',
      KIT,
      WING,
    ],
    packages: ANY,
  },
  {
    sentence: 'the list of deployers imports the deployers',
    of: /^activities\/([^/]+)\/deploy\/deployers\.gen\.ts$/,
    may: ['^activities/$1/deploy/[^/]+/deployer\\.ts$'],
    packages: NONE,
  },
  {
    sentence:
      'what deployers share imports what deployers share, bounded work, the top of the wing and the engine: no deployer',
    of: /^activities\/([^/]+)\/deploy\/(?:run|target|objects)\//,
    may: [
      '^activities/$1/(?:bounded/|deploy/(?:run|target|objects)/|[^/]+\\.ts$)',
      '^activities/(?:run|kube|journal|yaml)/',
      ...[DEPS, KIT, WING],
    ],
    packages: ANY,
  },
  {
    sentence:
      'a deployer imports itself, what deployers share, bounded work, the top of the wing and the engine: no other deployer',
    of: /^activities\/([^/]+)\/deploy\/([^/]+)\//,
    may: [
      '^activities/$1/(?:bounded/|deploy/(?:run|target|objects|$2)/|[^/]+\\.ts$)',
      '^activities/(?:run|kube|journal|yaml)/',
      ...[DEPS, KIT, WING],
    ],
    packages: ANY,
  },
  {
    sentence:
      'rendering imports of its wing what lies at its top, bounded work, and the kit: it neither reads nor writes a cluster',
    of: /^activities\/([^/]+)\/render\//,
    may: ['^activities/$1/(?:bounded/|render/|[^/]+\\.ts$)', '^activities/(?:templates|yaml)/', KIT, KIT_LEAVES, WING],
    packages: ANY,
  },
  {
    sentence: "a wing's activities import their wing and the engine: no other wing",
    of: /^activities\/([^/]+)\//,
    may: ['^activities/$1/', '^activities/(?:run|kube|journal|yaml)/', DEPS, KIT, WING],
    mayType: ['^activities/program\\.ts$'],
    packages: ANY,
  },
  {
    sentence: 'the commands that ask import of activities only what reads the journal',
    of: /^worker\/cli\/query\//,
    may: ['^worker/', '^activities/journal/read/', KIT],
    packages: ANY,
  },
  {
    sentence:
      "what tells the effect of files runs activities: it imports what the command line does, and the activities' index",
    of: /^worker\/cli\/plan\//,
    may: ['^worker/', '^activities/(?:index\\.ts$|(?:journal|kube|run|yaml)/)', KIT],
    packages: ANY,
  },
  {
    sentence: 'the command line imports the processes and their parts, activities, and of workflows the registry',
    of: /^worker\/(?:pawl\.js|cli\.ts|cli\/)/,
    may: [
      '^worker/',
      '^activities/(?:(?:journal|kube|run|templates|yaml)/|command\\.ts$|commands\\.gen\\.ts$)',
      KIT,
      '^workflows/(?:admission|controllers|wings)\\.gen\\.ts$',
    ],
    packages: ANY,
  },
  {
    sentence:
      'the development set-up imports its folder, what processes share, the pods of wings and the file systems of their containers, and the migrations that it runs at start',
    of: /^worker\/dev(?:\/|\.)/,
    may: [
      ...['^worker/dev(?:/|\\.)', '^worker/server/', '^worker/migrate\\.ts$', KIT],
      '^activities/(?:(?:journal|kube|run)/|(?:pods|pods\\.gen)\\.ts$)',
      '^worker/node-agent/container-root\\.ts$',
    ],
    packages: ANY,
  },
  {
    sentence: "the list of all programs imports the wings' list, and by a call the programs of the engine",
    of: /^worker\/programs\.ts$/,
    may: ['^activities/(?:program|programs\\.gen)\\.ts$'],
    mayCall: ['^worker/node-agent/'],
    packages: NONE,
  },
  {
    sentence: 'the main of the programs imports their list, and what processes share',
    of: /^worker\/program\.ts$/,
    may: ['^worker/(?:server/|programs\\.ts$)', '^activities/program\\.ts$'],
    packages: ANY,
  },
  {
    sentence:
      'the node agent imports itself, what processes share, what a program and a pod of a wing is, and the list of these pods',
    of: /^worker\/node-agent\//,
    may: [
      ...['^worker/(?:node-agent|server)/', '^activities/kube/', '^activities/(?:program|pods|pods\\.gen)\\.ts$'],
      KIT,
    ],
    packages: ANY,
  },
  {
    sentence:
      'the chapter of the demo about databases also imports the tools of the wing and their download, for its client',
    of: /^worker\/demo\/foundationdb\.ts$/,
    may: [
      '^worker/(?:demo|server)/',
      '^worker/dev/release\\.ts$',
      '^activities/kube/',
      '^activities/foundationdb/(?:database/tools|pods/in-dev|simulator/bin)\\.ts$',
    ],
    packages: ANY,
  },
  {
    sentence: 'a process imports its own folder, what processes share, activities, and of workflows the registry',
    of: /^worker\/([^/.]+)(?:\/|\.)/,
    may: [
      '^worker/$1/',
      '^worker/$1\\.(?:ts|js)$',
      '^worker/server/',
      '^activities/(?:index\\.ts$|(?:journal|kube|run|yaml)/)',
      KIT,
      KIT_LEAVES,
      '^workflows/kit/dsl/index\\.ts$',
      '^workflows/(?:admission|controllers|wings)\\.gen\\.ts$',
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

/** Returns a sentence for each import that the module's row does not permit, or for a missing row. */
export function importViolations(module: SourceModule, table: readonly Row[] = TABLE): string[] {
  const row = rowOf(module, table)
  if (row === undefined) return [`${module.path} has no row in the import table`]
  const groups = row.of.exec(module.path) ?? []
  return module.imports
    .filter((found) => !isAllowed(found, row, groups))
    .map(({ specifier, typeOnly }) => `${module.path} imports ${typeOnly ? 'types of ' : ''}${specifier}`)
}

/** Returns the row that applies to the module: the first one that matches its path. */
export function rowOf(module: SourceModule, table: readonly Row[] = TABLE): Row | undefined {
  return table.find(({ of }) => of.test(module.path))
}

function isAllowed(found: ModuleImport, row: Row, groups: readonly string[]): boolean {
  const { specifier, target, typeOnly, called = false } = found
  if (target === undefined) return typeOnly || row.packages.test(specifier)
  const patterns = [...row.may, ...((typeOnly && row.mayType) || []), ...((called && row.mayCall) || [])]
  return patterns.some((pattern) =>
    new RegExp(
      pattern
        .replaceAll('$hosted', `(?:${(HOSTED[groups[2] ?? ''] ?? ['none']).join('|')})`)
        .replaceAll(/\$(\d)/g, (_, index: string) => groups[Number(index)] ?? ''),
    ).test(target),
  )
}
