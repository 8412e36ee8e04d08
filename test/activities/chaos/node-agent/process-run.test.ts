// The processes of chaos pods, as real processes: started, found again, ended and swept.

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { kill } from 'node:process'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { PodFolder } from '../../../../activities/chaos/node-agent/pod-folder.ts'
import { ProcessRun, Unstartable } from '../../../../activities/chaos/node-agent/process-run.ts'
import { isRunning, signalTo } from '../../../../activities/chaos/node-agent/processes.ts'
import { readPod } from '../../../../activities/chaos/node-agent/read-pod.ts'
import type { Run } from '../../../../workflows/chaos/node-agent/chaos-pod.ts'
import { DEAF_INJECTOR, GOOD_INJECTOR, storedPod } from './chaos-pods.ts'

const pod = readPod(storedPod())
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }

const NOTHING = { onChange: () => undefined, follow: () => undefined, log: quiet }

let dir: string
let folder: PodFolder

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'node-agent-'))
  folder = new PodFolder(join(dir, 'uid-1'))
})
afterEach(async () => {
  const { injector, shim } = await folder.traces()
  if (injector !== undefined) await signalTo(injector, 'SIGKILL', 'group')
  if (shim !== undefined) await vi.waitFor(async () => expect(await isRunning(shim)).toBe(false), { timeout: 10_000 })
  await rm(dir, { recursive: true })
})

/** The view of another agent of the same pod. */
function runOf(script: string, sweepCommand: readonly string[] = ['true']): ProcessRun {
  const env = {
    PATH: '/usr/bin:/bin',
    TMPDIR: folder.inside('tmp'),
    CHAOS_INJECTOR_READINESS_FILE: folder.inside('/tmp/readiness_probe'),
  }
  const prepare = async () => await Promise.resolve({ argv: ['sh', '-c', script], env, files: {} })
  return new ProcessRun({ folder, prepare, sweepCommand, ...NOTHING })
}

async function until(run: ProcessRun, expected: object): Promise<Run> {
  return await vi.waitFor(
    async () => {
      const found = await run.look(Date.now())
      expect(found).toMatchObject(expected)
      return found
    },
    { timeout: 10_000, interval: 20 },
  )
}

const log = async () => await readFile(folder.log, 'utf8')

async function injector() {
  const { injector: found } = await folder.traces()
  expect(found).toBeDefined()
  return found!
}

describe('the process of a chaos pod', () => {
  it('is absent, runs, becomes ready, terminates, and ends with code 0', async () => {
    const run = runOf(GOOD_INJECTOR)
    expect(await run.look(Date.now())).toEqual({ state: 'absent' })
    await run.start(pod, Date.now())
    await until(run, { state: 'running', isReady: true })
    await run.terminate('deleted', 60_000, 5)
    const ended = await until(run, { state: 'ended', exit: { how: 'exited', code: 0 } })
    expect(ended).toMatchObject({ ending: { why: 'deleted', sinceMs: 5, graceMs: 60_000, isKilled: false } })
    expect(await log()).toBe('injected\ncleaned\n')
  })

  it('is killed with its children when it ignores the signal', async () => {
    const run = runOf(`sleep 1000 & echo $! >child; ${DEAF_INJECTOR}`)
    await run.start(pod, Date.now())
    await until(run, { state: 'running', isReady: true })
    await run.terminate('deadline', 0, Date.now())
    await run.kill()
    await until(run, { state: 'ended', exit: { how: 'exited', code: 137 }, ending: { isKilled: true } })
    const child = (await readFile(join(folder.files, 'child'), 'utf8')).trim()
    await vi.waitFor(async () => expect(await stateOf(child)).toMatch(/^(?:gone|Z)$/), { timeout: 10_000 })
  })

  it('ends together with its children', async () => {
    const run = runOf('sleep 1000 & echo $! >child; exit 0')
    await run.start(pod, Date.now())
    await until(run, { state: 'ended' })
    const child = (await readFile(join(folder.files, 'child'), 'utf8')).trim()
    await vi.waitFor(async () => expect(await stateOf(child)).toMatch(/^(?:gone|Z)$/), { timeout: 10_000 })
  })

  it('is found by the next agent with its exit code', async () => {
    await runOf(GOOD_INJECTOR).start(pod, 77)
    const next = runOf('exit 9')
    await until(next, { state: 'running', acceptedMs: 77, isReady: true })
    await next.terminate('deleted', 60_000, Date.now())
    await until(runOf('exit 9'), { state: 'ended', acceptedMs: 77, exit: { how: 'exited', code: 0 } })
  })

  it('is lost when it is killed together with its shim', async () => {
    const run = runOf(GOOD_INJECTOR)
    await run.start(pod, Date.now())
    await until(run, { state: 'running' })
    const { shim } = await folder.traces()
    kill(shim!.pid, 'SIGKILL')
    await signalTo(await injector(), 'SIGKILL', 'process')
    await until(run, { state: 'ended', exit: { how: 'lost' } })
  })

  it('continues without its shim', async () => {
    const run = runOf(GOOD_INJECTOR)
    await run.start(pod, Date.now())
    await until(run, { state: 'running', isReady: true })
    const { shim } = await folder.traces()
    kill(shim!.pid, 'SIGKILL')
    await vi.waitFor(async () => expect(await isRunning(shim!)).toBe(false))
    await until(run, { state: 'running', isReady: true })
  })

  it('is started once by concurrent starts', async () => {
    const script = 'echo started; while :; do sleep 0.02; done'
    await runOf(script).start(pod, Date.now())
    await runOf(script).start(pod, Date.now())
    await until(runOf(script), { state: 'running' })
    await vi.waitFor(async () => expect(await log()).toBe('started\n'))
  })

  it('from before a reboot is lost, and its PID gets no signal', async () => {
    const run = runOf(GOOD_INJECTOR)
    await run.start(pod, Date.now())
    await until(run, { state: 'running' })
    const record = await folder.read()
    await folder.write({ ...record!, bootId: 'another' })
    expect(await run.look(Date.now())).toMatchObject({ state: 'ended', exit: { how: 'lost' } })
    expect(await isRunning(await injector())).toBe(true)
  })

  it('is not another process with the same PID', async () => {
    const run = runOf(GOOD_INJECTOR)
    await run.start(pod, Date.now())
    await until(run, { state: 'running' })
    const { pid, startTime } = await injector()
    const later = { pid, startTime: String(Number(startTime) - 1) }
    expect(await isRunning(later)).toBe(false)
    await signalTo(later, 'SIGKILL', 'group')
    expect(await isRunning(await injector())).toBe(true)
  })
})

describe('a pod whose process cannot be started', () => {
  it('has a missing program', async () => {
    const prepare = async () => await Promise.resolve({ argv: ['no-such-program'], env: {}, files: {} })
    const run = new ProcessRun({ folder, prepare, sweepCommand: ['true'], ...NOTHING })
    await run.start(pod, Date.now())
    await until(run, { state: 'ended', exit: { how: 'unstarted' } })
  })

  it('reports the reason, and leaves nothing behind', async () => {
    const prepare = async () => await Promise.reject(new Unstartable('env A: found nothing'))
    const run = new ProcessRun({ folder, prepare, sweepCommand: ['false'], ...NOTHING })
    await run.start(pod, Date.now())
    expect(await run.look(7)).toMatchObject({
      state: 'ended',
      exit: { how: 'unstarted', message: 'env A: found nothing' },
    })
    expect(await folder.read()).toBeUndefined()
  })
})

describe('the clean-up after an injector', () => {
  it('runs the sweep of an injector that did not end well, and removes the record', async () => {
    const swept = join(dir, 'swept')
    const run = runOf('exit 1', ['sh', '-c', `echo $TMPDIR >${swept}`])
    await run.start(pod, Date.now())
    await until(run, { state: 'ended' })
    await run.sweep()
    expect(await readFile(swept, 'utf8')).toBe(`${folder.inside('tmp')}\n`)
    expect(await run.look(Date.now())).toEqual({ state: 'absent' })
  })

  it('is empty after exit code 0', async () => {
    const run = runOf('exit 0', ['false'])
    await run.start(pod, Date.now())
    await until(run, { state: 'ended' })
    await run.sweep()
    expect(await run.look(Date.now())).toEqual({ state: 'absent' })
  })

  it('keeps the record when it fails', async () => {
    const run = runOf('exit 1', ['sh', '-c', 'exit 1'])
    await run.start(pod, Date.now())
    await until(run, { state: 'ended' })
    await expect(run.sweep()).rejects.toThrow('Command failed')
    expect(await folder.read()).toBeDefined()
  })

  it('reports an invalid record', async () => {
    await folder.create({ version: 1, pod: pod.object, acceptedMs: 1, bootId: 'b', argv: [], env: {} })
    await writeFile(join(folder.path, 'pod.json'), '{"version":2}')
    await expect(folder.read()).rejects.toThrow('pod.json: found version 2; expected 1')
  })
})

async function stateOf(pid: string): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  return stat?.split(') ')[1]?.[0] ?? 'gone'
}
