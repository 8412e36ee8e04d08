// The command `pawl replay` on the recorded runs: it shows each run pass by pass, and accepts another build only if
// that build makes the same decisions and calls.

import { execFile } from 'node:child_process'
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DefaultLogger } from '@temporalio/worker'
import { afterAll, describe, expect, it } from 'vitest'

import type { Trial, Verdict } from '../../worker/cli/replay/compare-builds.ts'
import type { Comparison } from '../../worker/cli/replay/compare-runs.ts'
import type { ReplayedJob } from '../../worker/cli/replay/replayed-job.ts'
import { bundleCacheFolder } from '../../worker/cli/replay/load.ts'
import { bundleEntry } from '../../worker/reconciler/temporal/bundle.ts'
import { type Ended, runCommand } from '../support/pawl/run-command.ts'
import { LEVEL_CONTROLLERS } from './scenarios/levels.ts'
import { SECRET } from './scenarios/scenario.ts'

const HERE = import.meta.dirname
const HISTORIES = join(HERE, 'histories')
const CHECKOUT = join(HERE, '../..')
const HASTY = join(HERE, 'builds/hasty')
const PAWL = fileURLToPath(new URL('../../worker/pawl.js', import.meta.url))
// replay.test.ts replays all recorded runs. Here each build replays a sample: all items, and some runs of the other kinds.
const LEVELS = ['beacon-level-edited', 'beacon-level-life']
const INSTALLATIONS = ['installation-failure', 'installation-imports', 'installation-tree']
const EXECUTIONS = readdirSync(HISTORIES).flatMap((name) => /^(execution-.*)\.json$/.exec(name)?.[1] ?? [])
const SAMPLE = [...LEVELS, ...EXECUTIONS, ...INSTALLATIONS]
const folder = mkdtempSync(join(tmpdir(), 'pawl-gate-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe('pawl replay --against, on recorded runs', { timeout: 180_000 }, () => {
  it('accepts this build: nothing differs', async () => {
    const { code, verdict } = await gate(CHECKOUT)
    expect(verdict.trials.map(({ name }) => basename(name, '.json'))).toEqual(SAMPLE)
    expect(verdict).toMatchObject({ same: SAMPLE.length, differ: 0, part: 0, unknown: 0, kinds: [] })
    expect(code).toBe(0)
  })

  it("reports decisions and writes that differ where the SDK's replay finds no difference", async () => {
    const { code, verdict } = await gate(HASTY)
    expect(verdict).toMatchObject({ part: 0, unknown: 0 })
    expect(verdict.differ).toBeGreaterThanOrEqual(EXECUTIONS.length - 1)
    expect(verdict.kinds.map(({ what }) => what)).toEqual([
      'decision awaitPickup: only in this build',
      'write settle: different change.lastError.codes',
      'write settle: different change.lastError.operation',
      'write settle: different change.lastError.reason',
    ])
    expect(trialOf(verdict, 'execution-manifest-timeout').differences).toContainEqual({
      pass: 2,
      kind: 'write',
      name: 'settle',
      object: 'Execution replay/manifest-timeout',
      how: 'other',
      changes: expect.arrayContaining([
        { field: 'change.lastError.reason', from: 'DeployItemsFailed', to: 'Failed' },
      ]) as unknown,
    })
    expect(code).toBe(3)
  })

  it('reports the first call at which a build differs from a run that it cannot replay', async () => {
    const { code, verdict } = await gate(join(HERE, 'builds/broken'))
    expect(verdict).toMatchObject({
      part: EXECUTIONS.length,
      differ: 0,
      same: LEVELS.length + INSTALLATIONS.length,
    })
    expect(trialOf(verdict, 'execution-manifest-waits')).toMatchObject({
      verdict: 'parts',
      differences: [
        { pass: 1, kind: 'look', name: 'observeExecution', how: 'more' },
        { pass: 1, kind: 'write', name: 'guardSubject', how: 'less' },
      ],
      error: expect.stringMatching(/^Activity type of recorded marker 'guardSubject' does not match/) as unknown,
    })
    expect(code).toBe(3)
  })

  it('checks a build in a bundle file like a build in a folder', async () => {
    const name = 'execution-manifest-timeout'
    const runs = [name, 'execution-manifest-failed', ...LEVELS]
    const { code, verdict } = await gate(await bundled('builds/hasty/workflows/index.ts'), runs)
    const ofFolder = await gate(HASTY, [name])
    expect(trialOf(verdict, name).differences).toEqual(trialOf(ofFolder.verdict, name).differences)
    // The bundle does not contain the controllers of --controllers, so it cannot replay their runs.
    expect(verdict).toMatchObject({ differ: 2, part: LEVELS.length })
    expect(verdict.notes).toContain('a bundle has no activities, so their changes are not listed')
    expect(code).toBe(3)
  })

  it('accepts a bundle of this build', async () => {
    const { code, verdict } = await gate(await bundled('../../workflows/index.ts'), ['execution-manifest-failed'])
    expect({ code, same: verdict.same }).toEqual({ code: 0, same: 1 })
  })

  it('compares all applied fields of a controller in level mode, because its calls contain them', async () => {
    const dimmed = ['--against-controllers', join(HERE, 'level/dimmed.ts')]
    const { code, verdict } = await gate(CHECKOUT, LEVELS, ...dimmed)
    expect(verdict).toMatchObject({ part: 0, unknown: 0 })
    expect(verdict.kinds.map(({ what }) => what)).toContain('write applyLevel: different object.data.keys')
    expect(code).toBe(3)
  })

  it('explains the differences and the parts that were not compared', async () => {
    const { code, stdout } = await startPawl(
      ...['--against', HASTY, '--file', file('execution-manifest-failed'), '--controllers', LEVEL_CONTROLLERS],
    )
    expect(code).toBe(3)
    expect(stdout).toMatch(/^1 of 1 run replayed with both builds differs\n/)
    expect(stdout).toContain(
      'note: only decisions of plans and inputs of calls are compared; no history has the work of activities\n',
    )
    expect(stdout).toContain('    change.lastError.operation: handlePhaseProgressing -> Progressing\n')
  })

  it('rejects a run that this build cannot replay', async () => {
    // Without --controllers, neither build has the controller of this run.
    const { code, stdout } = await pawl('--against', CHECKOUT, '--file', file('beacon-level-life'))
    expect(stdout).toContain('1 that this build cannot replay, so they are not compared')
    expect(code).toBe(4)
  })

  const own = join(folder, 'own.js')
  it.each([
    [
      'a file that is not a bundle',
      file('execution-manifest-failed'),
      [],
      'is no workflow bundle; expected a folder of Pawl',
    ],
    [
      'a folder without workflows',
      join(HERE, 'level'),
      [],
      'has no workflows/index.ts or .js; expected a folder of Pawl or a workflow bundle',
    ],
    [
      'controllers for a bundle',
      own,
      ['--against-controllers', LEVEL_CONTROLLERS],
      '--against-controllers: a bundle has its own controllers',
    ],
  ])('rejects %s as a build', async (_, build, more, message) => {
    writeFileSync(own, '"use strict"')
    const { code, stderr } = await pawl('--against', build, '--file', file('execution-manifest-failed'), ...more)
    expect(stderr).toContain(message)
    expect(code).toBe(2)
  })
})

describe('pawl replay, on a recorded run', () => {
  it.each([
    ['installation-success', 'Succeeded', 1],
    ['installation-failure', 'Failed', 2],
    ['installation-superseded', 'Superseded', 2],
    ['installation-deletion', 'Deleted', 1],
    ['execution-continued', 'continues as a new run', 3],
  ])('%s is shown up to its end: %s', async (name, state, passes) => {
    const { stdout } = await pawl('--file', file(name), '-o', 'json')
    const replayed = JSON.parse(stdout) as ReplayedJob
    expect(replayed).toMatchObject({
      state,
      notes: ['the journal has no rows of this job: writes and events are not shown'],
    })
    expect(replayed.passes.map(({ pass }) => pass)).toEqual(Array.from({ length: passes }, (_, index) => index + 1))
    expect(replayed.passes.every(({ plans }) => plans.every(({ trace }) => trace !== undefined))).toBe(true)
  })

  it('shows the plans with the steps that ran, and the wake of each pass, up to the requested pass', async () => {
    const { stdout } = await pawl('--file', file('installation-failure'))
    expect(stdout).toContain('woken by  the start of the job: reconcile annotation\n')
    expect(stdout).toContain('woken by  event 75 of the journal\n')
    expect(stdout).toContain('saw       Installation failure  version 408, phase Progressing\n')
    expect(stdout).toMatch(/ {13}│ {2}└─ ✗ triggerDeployItems: DeployItemsFailed: .* \(final\)\n/)
    expect(stdout).toContain('result    settle: Failed, children failed\n')
    expect((await pawl('--file', file('installation-failure'), '--to', '1')).stdout).not.toContain('pass 2 of 2')
    expect(await pawl('--file', file('installation-failure'), '--to', '3')).toMatchObject({
      code: 2,
      stderr: 'pawl: Installation replay/failure: --to: no pass "3"; the job has passes 1 to 2\n',
    })
  })

  it('shows no imports, exports or other contents of users', async () => {
    const { stdout } = await pawl('--file', file('installation-imports'), '-o', 'json')
    expect(readFileSync(file('installation-imports'), 'utf8')).not.toContain(SECRET)
    expect(stdout).not.toContain(SECRET)
  })
})

/** Runs the command on these recorded runs. */
async function gate(build: string, runs: readonly string[] = SAMPLE, ...more: readonly string[]) {
  const histories = mkdtempSync(join(folder, 'runs-'))
  for (const name of runs) copyFileSync(file(name), join(histories, `${name}.json`))
  const { code, stdout, stderr } = await pawl(
    ...['--against', build, '--file', histories, '--controllers', LEVEL_CONTROLLERS, '-o', 'json', ...more],
  )
  if (stdout === '') throw new Error(stderr)
  return { code, verdict: JSON.parse(stdout) as VerdictJson }
}

/** Writes the bundle of a workflow module to a file, in the format of a worker's --workflow-bundle. */
async function bundled(module: string): Promise<string> {
  // The command bundles the same folders, and caches the bundles.
  const options = { cacheDir: bundleCacheFolder() }
  const { code } = await bundleEntry(resolve(HERE, module), new DefaultLogger('ERROR'), options)
  const path = join(folder, `${code.length}.js`)
  writeFileSync(path, code)
  return path
}

/** The JSON output of the command. */
type VerdictJson = Omit<Verdict, 'trials'> & {
  readonly trials: readonly TrialJson[]
  readonly notes: readonly string[]
}
type TrialJson = Pick<Trial, 'name'> & Comparison

function trialOf({ trials }: { readonly trials: readonly TrialJson[] }, name: string): TrialJson {
  const found = trials.find((trial) => basename(trial.name, '.json') === name)
  if (found === undefined) throw new Error(`${name} was not tried`)
  return found
}

function file(name: string): string {
  return join(HISTORIES, `${name}.json`)
}

async function pawl(...words: readonly string[]): Promise<Ended> {
  return await runCommand('replay', ...words)
}

/** Runs the command in a new process, as a user does. */
async function startPawl(...words: readonly string[]): Promise<Ended> {
  return await new Promise((done) => {
    execFile(process.execPath, [PAWL, 'replay', ...words], { maxBuffer: 2 ** 26 }, (error, stdout, stderr) =>
      done({ code: error?.code ?? 0, stdout, stderr }),
    )
  })
}
