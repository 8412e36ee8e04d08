// Tests the architecture rules. Source: docs/concepts/architecture.md "The three-line rule"; additions in docs/adr/0002.

import { basename, join } from 'node:path'

import { describe, expect, it } from 'vitest'

import { importCycles, packagesAtStart, runtimeClosure } from './architecture/import-graph.ts'
import { HOSTED, importViolations, rowOf, TABLE } from './architecture/import-table.ts'
import { foreignWords, isEngine } from './architecture/engine-words.ts'
import { builtInRegistry } from '../worker/server/registry.ts'
import { readKindFolders } from '../worker/server/kind-folders.ts'
import type { Controller } from '../workflows/kit/index.ts'
import { type Deed, parseModule, readModules, type SourceModule } from './architecture/source-module.ts'

const ROOT = join(import.meta.dirname, '..')
const sources = await readModules(ROOT, ['workflows', 'activities', 'worker', 'migrations', 'examples'])
const tests = await readModules(ROOT, ['test'])

/** A module for each row of the import table. Each row forbids it to import a module outside the known folders. */
const BROKEN: ReadonlyMap<string, string> = new Map(
  [
    ...['workflows/kit/dsl/parser.ts', 'workflows/kit/run/loop/temporal.ts', 'workflows/kit/run/loop/run-job.ts'],
    ...['workflows/kit/kind/kind.ts', 'workflows/kit/testing/run-pass.ts'],
    ...[
      'workflows/kit/plan/step.ts',
      'workflows/kit/run/job/job.ts',
      'workflows/index.ts',
      'workflows/controllers.gen.ts',
    ],
    'workflows/admission.gen.ts',
    'worker/demo/foundationdb.ts',
    ...['workflows/chaos/contract.ts', 'workflows/chaos/disruption/workflow.ts', 'workflows/chaos/disruption/plan.ts'],
    'workflows/chaos/disruption/jobs.ts',
    'workflows/foundationdb/database/tuple.ts',
    ...['workflows/wings.gen.ts', 'activities/deps.ts', 'activities/wings.gen.ts', 'activities/chaos/wing.ts'],
    ...[
      'activities/index.ts',
      'activities/journal/migrate.ts',
      'activities/kube/write.ts',
      'activities/run/begin-job.ts',
    ],
    ...['activities/landscaper/bounded/tenant-data.ts', 'worker/cli/query/why.ts', 'worker/cli/plan/preview.ts'],
    ...['activities/landscaper/deploy/deployers.gen.ts', 'activities/landscaper/deploy/objects/apply.ts'],
    ...['activities/landscaper/deploy/mock/deployer.ts', 'activities/landscaper/render/names.ts'],
    ...['activities/programs.gen.ts', 'activities/chaos/programs.ts', 'activities/chaos/injector/injector.ts'],
    ...['activities/commands.gen.ts', 'activities/chaos/command/stop.ts'],
    'activities/chaos/admission/disruption.ts',
    ...['activities/chaos/metrics/gauges.ts', 'activities/yaml/read-yaml.ts', 'activities/templates/engine-module.ts'],
    ...['worker/program.ts', 'worker/programs.ts', 'worker/node-agent/agent.ts'],
    ...[
      'activities/pods.gen.ts',
      'activities/chaos/pods.ts',
      'activities/chaos/pods/open.ts',
      'activities/chaos/any.ts',
    ],
    ...['worker/cli/gen.ts', 'worker/dev/part.ts'],
    ...['worker/bridge.ts', 'migrations/0001.ts', 'examples/cronjob/plan.ts'],
  ].map((path) => [rowOf(parseModule(path, ''))?.sentence ?? path, path]),
)

const DUMPING_GROUNDS = /(?:^|\/)(?:(?:utils?|helpers?|common|shared|misc)(?:\/|\.[jt]s$)|(?:types|constants)\.[jt]s$)/

describe('the import table', () => {
  it.each(TABLE.map((row) => [row.sentence, row] as const))('%s', (_, row) => {
    const bound = sources.filter((module) => rowOf(module) === row)
    expect(bound.flatMap((module) => importViolations(module))).toEqual([])
  })

  it('has a row for every module', () => {
    expect(sources.filter((module) => rowOf(module) === undefined).map(({ path }) => path)).toEqual([])
  })

  it('covers existing modules', () => {
    expect(sources.length).toBeGreaterThan(30)
    expect(sources.filter(({ imports }) => imports.length > 0).length).toBeGreaterThan(20)
  })
})

describe('the hosted kinds in the import table', () => {
  it('are the kinds that the controllers declare as hosted', async () => {
    const folders = await readKindFolders(ROOT)
    const folderOf = ({ target }: Controller) =>
      basename(folders.find(({ kinds }) => kinds.some(({ kind }) => kind === target.kind))?.folder ?? '')
    const all = [...builtInRegistry.controllers.values()]
    const hosting = all.map((host): [string, string[]] => [
      folderOf(host),
      all.filter(({ hostedBy }) => hostedBy?.[0] === host.name).map(folderOf),
    ])
    expect(HOSTED).toEqual(Object.fromEntries(hosting.filter(([, hosted]) => hosted.length > 0)))
  })
})

describe('the modules', () => {
  it('have no import cycles', () => {
    expect(importCycles(sources)).toEqual([])
  })

  it('import no tests', () => {
    const fromTests = ({ imports }: SourceModule) => imports.some(({ target }) => target?.startsWith('test/') === true)
    expect(sources.filter(fromTests).map(({ path }) => path)).toEqual([])
  })

  it('have no generic names such as utils or helpers', () => {
    expect([...sources, ...tests].map(({ path }) => path).filter((path) => DUMPING_GROUNDS.test(path))).toEqual([])
  })

  it('have names in kebab-case', () => {
    const isKebab = (path: string) =>
      path.split('/').every((part) => /^[a-z0-9]+(?:-[a-z0-9]+)*(?:[._][a-z0-9_-]+)*$/.test(part))
    expect([...sources, ...tests].map(({ path }) => path).filter((path) => !isKebab(path))).toEqual([])
  })

  it('export only by name', () => {
    expect([...doing('exports default'), ...doing('exports *')]).toEqual([])
  })

  it('read the environment in worker/server/config.ts only', () => {
    // Users write the activities of examples, and configure them with environment variables.
    const isUsersActivity = (path: string) => /^examples\/.*\.activities\.ts$/.test(path)
    expect(
      doing('reads process.env').filter((path) => path !== 'worker/server/config.ts' && !isUsersActivity(path)),
    ).toEqual([])
  })

  it('are programs in worker/ only', () => {
    // Runs in a child process of the worker. The code of the worker's threads is in the same folder.
    const isInside = (path: string) => path === 'activities/landscaper/bounded/sealed-process.ts'
    expect(doing('has a main').filter((path) => !path.startsWith('worker/') && !isInside(path))).toEqual([])
  })
})

describe('workflows', () => {
  // docs/adr/0058: runs in the same thread share modules. WeakMaps are permitted: their keys are objects of one run.
  const kept = /^(?:export )?(?:let|var) |^(?:export )?const \w+ = new (?:Map|Set)\b(?!\(\[)/m
  const inBundles = sources.filter(({ path }) => /^workflows\/(?!kit\/(?:testing|dsl)\/)/.test(path))

  it('keep no state of a run at the top level of a module', () => {
    expect(inBundles.filter(({ text }) => kept.test(text)).map(({ path }) => path)).toEqual([])
    expect(inBundles.length).toBeGreaterThan(100)
  })

  it.each([
    'let count = 0',
    'export let known: string[]',
    'const seen = new Map<string, number>()',
    'export const all = new Set()',
  ])('must not contain the line: %s', (line) => {
    expect(kept.test(`// A comment.\n${line}\n`)).toBe(true)
  })
})

describe('the engine', () => {
  it('contains no word of a wing, even in comments', () => {
    expect(sources.flatMap(foreignWords)).toEqual([])
  })

  it('has more than 100 modules', () => {
    expect(sources.filter(({ path }) => isEngine(path)).length).toBeGreaterThan(100)
  })
})

describe('the public kit', () => {
  it('needs neither Temporal nor Node.js', () => {
    const closure = runtimeClosure(sources, 'workflows/kit/index.ts')
    expect(closure.size).toBeGreaterThan(5)
    const packages = sources
      .filter(({ path }) => closure.has(path))
      .flatMap(({ imports }) => imports.filter(({ target, typeOnly }) => target === undefined && !typeOnly))
    expect(packages).toEqual([])
  })
})

describe('rendering', () => {
  it('needs no module that connects to a server', () => {
    const rendering = sources.filter(({ path }) => /^activities\/[^/]+\/render\//.test(path))
    expect(rendering.length).toBeGreaterThan(10)
    const reached = rendering.flatMap(({ path }) => [...runtimeClosure(sources, path)])
    expect(reached.filter((path) => /^activities\/(?:kube|run|journal)\//.test(path))).toEqual([])
  })
})

describe('the start of a process', () => {
  // Each package costs 0.01 to 0.35 s of CPU at every start of the process. Source: docs/adr/0079.
  it.each([
    ['worker/bridge.ts', ['@temporalio/common', 'croner', 'kysely', 'pg', 'pino', 'prom-client', 'undici']],
    [
      'worker/reconciler.ts',
      [
        ...['@temporalio/activity', '@temporalio/client', '@temporalio/common', '@temporalio/proto'],
        ...[
          '@temporalio/worker',
          'croner',
          'json-p3',
          'kysely',
          'lru-cache',
          'pg',
          'pino',
          'prom-client',
          'tar-stream',
          'undici',
          'yaml',
        ],
      ],
    ],
  ])('of %s loads only the packages that it always needs', (main, expected) => {
    expect(packagesAtStart(sources, main)).toEqual(expected)
  })
})

describe('the architecture checker', () => {
  it.each([
    ['workflows/kit/plan/outcome.ts', "import { condition } from '@temporalio/workflow'"],
    ['workflows/kit/run/job/job.ts', "import { runJob } from '../loop/run-job.ts'"],
    ['workflows/kit/run/loop/run-job.ts', "import { condition } from '@temporalio/workflow'"],
    ['workflows/kit/run/loop/loop.ts', "import { runJob } from './run-job.ts'"],
    ['workflows/landscaper/execution/workflow.ts', "import { loop } from '../../kit/run/loop/loop.ts'"],
    ['workflows/kit/kind/kind.ts', "import { done } from '../plan/outcome.ts'"],
    ['workflows/kit/plan/step.ts', "import type { Kind } from '../kind/kind.ts'"],
    ['workflows/kit/run/job/job.ts', "import { FINALIZER } from '../../../landscaper/contract.ts'"],
    ['workflows/kit/dsl/parser.ts', "import { done } from '../index.ts'"],
    ['workflows/kit/dsl/parser.ts', "import { defineKind } from '../kind/kind.ts'"],
    ['workflows/index.ts', "import { plan } from './landscaper/execution/plan.ts'"],
    ['workflows/controllers.gen.ts', "import { plan } from './landscaper/execution/plan.ts'"],
    ['workflows/landscaper/contract.ts', "import { executionKind } from './execution/kind.ts'"],
    ['workflows/landscaper/execution/plan.ts', "import { observe } from '../../../activities/kube/observe.ts'"],
    ['workflows/landscaper/execution/plan.ts', "const load = () => import('../../../activities/chaos/pods.ts')"],
    ['workflows/landscaper/contract.ts', "const load = () => import('../../activities/landscaper/render/names.ts')"],
    ['workflows/landscaper/execution/plan.ts', "export { observe } from '../../../activities/kube/observe.ts'"],
    ['workflows/landscaper/execution/plan.ts', "import { installationPlan } from '../installation/plan.ts'"],
    ['workflows/landscaper/execution/plan.ts', "import { runJob } from '../../kit/run/loop/index.ts'"],
    ['workflows/landscaper/execution/plan.ts', "import { disruptionKind } from '../../chaos/disruption/kind.ts'"],
    ['workflows/landscaper/execution/plan.ts', "import type { Pods } from '../../../activities/chaos/pods/pods.ts'"],
    ['workflows/landscaper/execution/plan.ts', "import { readFile } from 'node:fs/promises'"],
    ['workflows/landscaper/execution/plan.ts', "const { readFile } = await import('node:fs/promises')"],
    ['workflows/landscaper/execution/workflow.ts', "import { plan } from '../installation/plan.ts'"],
    ['workflows/landscaper/installation/workflow.ts', "import { execution } from '../execution/workflow.ts'"],
    ['workflows/landscaper/installation/plan.ts', "import { executionJobs } from '../execution/jobs.ts'"],
    ['workflows/landscaper/installation/plan.ts', "import { deployPlan } from '../deploy-item/plan.ts'"],
    ['workflows/landscaper/execution/plan.ts', "import { executionJobs } from './jobs.ts'"],
    ['workflows/landscaper/execution/jobs.ts', "import { execution } from './workflow.ts'"],
    ['workflows/landscaper/target/pass.ts', "import { isServed } from '../deploy-item/pass.ts'"],
    [
      'activities/landscaper/execution/observe.ts',
      "import { plan } from '../../../workflows/landscaper/execution/plan.ts'",
    ],
    ['activities/landscaper/deploy/mock/deployer.ts', "import { render } from '../../render/engine.ts'"],
    ['activities/landscaper/deploy/helm/deployer.ts', "import { apply } from '../manifest/deployer.ts'"],
    ['activities/landscaper/deploy/helm/deployer.ts', "import { deployers } from '../deployers.gen.ts'"],
    ['activities/landscaper/deploy/objects/apply.ts', "import type { Config } from '../manifest/config.ts'"],
    ['activities/landscaper/deploy/run/run-item.ts', "import { deployers } from '../deployers.gen.ts'"],
    ['activities/landscaper/deploy/deployers.gen.ts', "import { BRAND } from './manifest/ownership.ts'"],
    ['activities/landscaper/render/names.ts', "import { specOf } from '../installation/spec.ts'"],
    ['activities/landscaper/render/names.ts', "import { writeAll } from '../../kube/write.ts'"],
    ['activities/landscaper/installation/start.ts', "import { pods } from '../../chaos/pods/pods.ts'"],
    ['activities/kube/client.ts', "import { config } from '../../worker/server/config.ts'"],
    ['activities/kube/client.ts', "import type { Config } from '../../worker/server/config.ts'"],
    ['activities/kube/write.ts', "import { begin } from '../run/begin.ts'"],
    ['activities/templates/engine-module.ts', "import { readYaml } from '../yaml/read-yaml.ts'"],
    [
      'activities/journal/write/jobs.ts',
      "import { executionKind } from '../../../workflows/landscaper/execution/kind.ts'",
    ],
    ['activities/journal/migrate.ts', "import { render } from '../landscaper/render/engine.ts'"],
    [
      'activities/run/begin-job.ts',
      "import { installationKind } from '../../workflows/landscaper/installation/kind.ts'",
    ],
    ['activities/index.ts', "import { read } from '../worker/server/config.ts'"],
    ['activities/index.ts', "import { landscaper } from './landscaper/wing.ts'"],
    ['activities/deps.ts', "import type { TemplateEngine } from './landscaper/render/template-engine.ts'"],
    ['activities/deps.ts', "import type { WINGS } from './wings.gen.ts'"],
    ['activities/wing.ts', "import type { LandscaperDeps } from './landscaper/deps.ts'"],
    ['activities/wings.gen.ts', "import { mockActivities } from './landscaper/deploy/mock/deployer.ts'"],
    ['activities/chaos/wing.ts', "import type { LandscaperDeps } from '../landscaper/deps.ts'"],
    ['workflows/wings.gen.ts', "import { FINALIZER } from './landscaper/contract.ts'"],
    ['workflows/landscaper/wing.ts', "import { executionKind } from './execution/kind.ts'"],
    [
      'worker/reconciler.ts',
      "import { createTargetAccess } from '../activities/landscaper/deploy/target/open-target.ts'",
    ],
    ['worker/reconciler.ts', "import { WINGS } from '../activities/wings.gen.ts'"],
    ['worker/cli/gen.ts', "import { mock } from '../../activities/landscaper/deploy/mock/deployer.ts'"],
    ['worker/demo/foundationdb.ts', "import { sidecar } from '../../activities/foundationdb/sidecar/sidecar.ts'"],
    ['worker/dev/part.ts', "import { bridge } from '../bridge/feed.ts'"],
    ['worker/bridge.ts', "import { start } from './reconciler.ts'"],
    ['worker/bridge.ts', "import { start } from './reconciler/start.ts'"],
    ['worker/bridge.ts', "import { execution } from '../workflows/landscaper/execution/workflow.ts'"],
    ['migrations/0002_add.ts', "import { openDatabase } from '../activities/journal/database.ts'"],
    ['examples/cronjob/plan.ts', "import { CoreV1Api } from '@kubernetes/client-node'"],
    ['examples/cronjob/plan.ts', "import { done } from '../../workflows/kit/index.ts'"],
    ['somewhere/else.ts', ''],
  ])('finds one violation in %s: %s', (path, text) => {
    expect(importViolations(parseModule(path, text))).toHaveLength(1)
  })

  it('finds a violation of each row of the import table', () => {
    const text = "import '../../../../nowhere/at-all.ts'"
    expect(TABLE.filter(({ sentence }) => !BROKEN.has(sentence)).map(({ sentence }) => sentence)).toEqual([])
    for (const path of BROKEN.values()) expect(importViolations(parseModule(path, text))).toHaveLength(1)
  })

  it.each([
    ['workflows/landscaper/execution/plan.ts', "import type { Activities } from '../../../activities/index.ts'"],
    [
      'workflows/landscaper/execution/plan.ts',
      "const load = () => import('../../../activities/landscaper/execution/a.ts')",
    ],
    ['workflows/landscaper/execution/plan.ts', "import { FINALIZER } from '../contract.ts'"],
    ['workflows/landscaper/execution/workflow.ts', "import { runJob } from '../../kit/run/loop/index.ts'"],
    ['workflows/landscaper/execution/jobs.ts', "import { shortActivities } from '../../kit/run/loop/index.ts'"],
    ['workflows/landscaper/execution/jobs.ts', "import { deployActivities } from '../deploy-item/jobs.ts'"],
    ['workflows/landscaper/execution/start-items.ts', "import { deployItems } from '../deploy-item/deploy-items.ts'"],
    ['workflows/landscaper/installation/workflow.ts', "import { executionJobs } from '../execution/jobs.ts'"],
    ['workflows/landscaper/execution/plan.ts', "import type { KubeConfig } from '@kubernetes/client-node'"],
    ['activities/landscaper/installation/render.ts', "import { render } from '../render/engine.ts'"],
    ['activities/landscaper/deploy/helm/deployer.ts', "import { applyManifests } from '../objects/apply.ts'"],
    ['activities/kube/client.ts', "// import { config } from '../../worker/server/config.ts'"],
    ['activities/kube/client.ts', 'const text = "import x from \'../../worker/server/config.ts\'"'],
    ['worker/bridge/reflector.ts', "import { readConfig } from '../server/config.ts'"],
    ['examples/cronjob/plan.ts', "import { join } from 'pawl/kit'"],
    ['examples/cronjob/plan.ts', "import type { Job } from 'pawl/kit/batch/v1'"],
  ])('finds no violation in %s: %s', (path, text) => {
    expect(importViolations(parseModule(path, text))).toEqual([])
  })

  it('finds a cycle, even of type imports', () => {
    const modules = [
      parseModule('a.ts', "import './b.ts'"),
      parseModule('b.ts', "import type { C } from './c.ts'"),
      parseModule('c.ts', "import './b.ts'"),
    ]
    expect(importCycles(modules)).toEqual(['b.ts -> c.ts -> b.ts'])
  })

  it.each<[string, Deed]>([
    ['const home = process.env.HOME', 'reads process.env'],
    ['if (import.meta.main) run()', 'has a main'],
    ['run(process.argv)', 'has a main'],
    ['export default 1', 'exports default'],
    ['export default function run() {}', 'exports default'],
    ["export * from './a.ts'", 'exports *'],
  ])('finds the violation in: %s', (text, deed) => {
    expect([...parseModule('a.ts', text).deeds]).toEqual([deed])
  })

  it.each([
    ['workflows/kit/run/routes.ts', '/** Such as `landscaper.gardener.cloud/v1alpha1`. */'],
    ['workflows/index.ts', "const group = 'chaos.DatadogHQ.com'"],
    ['activities/kube/object-views.ts', '// Source: spec/landscaper.md 2.11.'],
    ['activities/journal/write/resync.ts', '// Source: seeds/chaos-controller.txt'],
    ['activities/run/begin-job.ts', "const GROUP = 'apps.foundationdb.org'"],
    ['activities/deps.ts', '// gardener'],
    ['worker/server/registry.ts', '// gardener'],
    ['worker/bridge.ts', '// gardener, gardener'],
  ])('finds in %s the word of a wing: %s', (path, text) => {
    expect(foreignWords({ path, text })).toHaveLength(1)
  })

  it.each([
    ['workflows/landscaper/contract.ts', "const GROUP = 'landscaper.gardener.cloud'"],
    ['activities/landscaper/installation/spec.ts', '// Source: spec/landscaper.md 1.2.'],
    ['worker/demo/tree.ts', "const API = 'landscaper.gardener.cloud/v1alpha1'"],
    ['worker/server/registry.ts', '// Source: spec/engine.md 2.4'],
  ])('allows in %s the line: %s', (path, text) => {
    expect(foreignWords({ path, text })).toEqual([])
  })

  it.each(['shared/a.ts', 'activities/utils.ts', 'worker/helpers/a.ts', 'workflows/kit/types.ts', 'a/constants.ts'])(
    'refuses the name %s',
    (path) => {
      expect(path).toMatch(DUMPING_GROUNDS)
    },
  )
})

function doing(deed: Deed): string[] {
  return sources.filter(({ deeds }) => deeds.has(deed)).map(({ path }) => path)
}
