// The failure of a node: the checks of the pre-run, and the moment of the trigger. Source: spec/chaos.md 3.8, "never
// re-injected".

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import type { PreRun } from '../../../../activities/chaos/injector/pre-run.ts'
import { createInjection } from '../../../../activities/chaos/injector/injection.ts'
import { prepare } from '../../../../activities/chaos/injector/prepare.ts'
import { readSettings } from '../../../../activities/chaos/injector/settings.ts'
import type { KubeClient } from '../../../../activities/kube/client.ts'
import { KubeError } from '../../../../activities/kube/kube-error.ts'
import { commandText } from '../../../../workflows/chaos/injector/command.ts'
import type { Invocation } from '../../../../workflows/chaos/injector/invocation.ts'
import { planNodeFailure } from '../../../../workflows/chaos/injector/plan.ts'
import { readInvocation } from '../../../../workflows/chaos/injector/read-invocation.ts'
import { born, failing, type Making } from './born.ts'
import { HandClock, settled } from './hand-clock.ts'

const BOOTED = '2026-01-02T03:00:00Z'
let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-node-failure-'))
  await mkdir(join(folder, 'proc'))
  await writeFile(join(folder, 'proc/stat'), `cpu  1 2 3\nbtime ${Date.parse(BOOTED) / 1000}\nprocesses 7\n`)
  await writeFile(join(folder, 'sysrq'), '176\n')
})

afterEach(() => rm(folder, { recursive: true }))

describe('the pre-run of a node failure', () => {
  it('reads the previous setting, and sends no request outside of a cluster', async () => {
    expect(await planned(undefined)).toMatchObject({ undo: [{ do: 'write', text: '176' }] })
  })

  it.each([
    ['was taken up after the node was started', () => Promise.resolve(pod('2026-01-02T03:00:00Z'))],
    ['has no status yet', () => Promise.resolve({ metadata: { name: 'chaos-1' } })],
  ])('goes on where its pod %s', async (_what, answer) => {
    expect(await planned(answer)).toMatchObject({ apply: [{ text: '1' }] })
  })

  it('fails no node that has rebooted since the start of its pod, because another injector ran before', async () => {
    await expect(planned(() => Promise.resolve(pod('2026-01-02T02:59:59Z')))).rejects.toThrow('the node has restarted')
  })

  it('retries a request, and fails no node without an answer', async () => {
    let asked = 0
    const refusing = (times: number) => () => {
      asked += 1
      return asked > times ? Promise.resolve(pod(BOOTED)) : Promise.reject(new Error('no route to host'))
    }
    expect(await planned(refusing(3))).toMatchObject({ apply: [{ text: '1' }] })
    asked = 0
    await expect(planned(refusing(4))).rejects.toThrow('no route to host')
    const gone = () => Promise.reject(new KubeError('it is gone', { status: 404, reason: 'NotFound' }))
    await expect(planned(gone)).rejects.toThrow('it is gone')
  })
})

describe('D15: an injector that fails a node', () => {
  const ENABLED = "write '1' to /sysrq"
  const FAILED = "write 'c' to /trigger"
  const PUT_BACK = "write '176' to /sysrq"
  const once = { isRepeatable: false }

  it('is ready once it is armed, before the node disappears', async () => {
    const { life, done, clock, signal, counted } = born(once, [nodeFailure()])
    await settled()
    expect(done).toEqual([ENABLED, 'ready', 'release'])
    await clock.turn(30_999)
    expect(done).not.toContain(FAILED)
    await clock.turn(1)
    expect(done.slice(3)).toEqual([FAILED])
    signal()
    expect(await life).toBe(0)
    expect(counted).toEqual(['injected succeed', 'cleaned succeed'])
  })

  it('spares the node and restores the setting when it is terminated during the wait', async () => {
    const { life, done, clock, signal, failures } = born(once, [nodeFailure()])
    await clock.turn(30_000)
    signal()
    expect(await life).toBe(0)
    await clock.turn(60_000)
    expect(done).toEqual([ENABLED, 'ready', 'release', PUT_BACK, 'finalizer'])
    expect(failures).toEqual([])
  })

  it('L4: spares the node when its deadline passes during the wait, also after a change of the clock', async () => {
    const early = born({ ...once, deadline: 1_020_000 }, [nodeFailure()])
    await settled()
    await early.clock.turn(20_000)
    expect(await early.life).toBe(0)
    const set = born({ ...once, deadline: 2_000_000 }, [nodeFailure()])
    await settled()
    set.clock.jump(1_000_000)
    await set.clock.turn(31_000)
    expect(await set.life).toBe(0)
    for (const { done } of [early, set]) expect(done).not.toContain(FAILED)
  })

  it('loses its readiness and waits for the clean-up when the trigger cannot be pulled', async () => {
    const { life, done, clock, signal, failures, counted } = born(once, [nodeFailure({ fails: FAILED })])
    await settled()
    await clock.turn(31_000)
    expect(done).toEqual([ENABLED, 'ready', 'release', FAILED, 'unready'])
    expect(failures).toEqual(['the injection failed'])
    signal()
    expect(await life).toBe(0)
    expect(done.slice(5)).toEqual([PUT_BACK, 'finalizer'])
    expect(counted).toEqual(['injected succeed', 'injected failed', 'cleaned succeed'])
  })

  it('does not wait if it cannot be armed', async () => {
    const { life, done, clock, signal } = born(once, [nodeFailure({ fails: ENABLED })])
    await settled()
    await clock.turn(31_000)
    expect(done).toEqual([ENABLED, 'release'])
    signal()
    await life
  })
})

function pod(startTime: string) {
  return { metadata: { name: 'chaos-1' }, status: { startTime } }
}

async function planned(answer: (() => Promise<object>) | undefined) {
  const settings = readSettings({
    CHAOS_INJECTOR_MOUNT_PROC: join(folder, 'proc'),
    CHAOS_INJECTOR_MOUNT_SYSRQ: join(folder, 'sysrq'),
    INJECTOR_POD_NAME: 'chaos-1',
  })
  const asked: string[] = []
  const request = async (method: string, path: string) => {
    asked.push(`${method} ${path}`)
    return await answer?.()
  }
  const client = { request } as unknown as KubeClient
  const finding: PreRun = {
    settings,
    clock: impatient,
    run: nothing,
    lookup: nothing,
    serviceAddresses: nothing,
    log: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
    cluster: answer && { client: () => Promise.resolve(client), close: () => Promise.resolve() },
  }
  const invocation = readInvocation(['node-failure', 'inject', '--level', 'node']) as Invocation
  const { plan } = await prepare(finding, invocation, [{ name: 'node', main: { pid: 1, startTime: '1' } }])
  expect([...new Set(asked)]).toEqual(answer ? ['GET /api/v1/namespaces/chaos-engineering/pods/chaos-1'] : [])
  return plan
}

/** Leaves out the delays between tries. */
const impatient = Object.assign(new HandClock(), { sleep: () => Promise.resolve() })

async function nothing(): Promise<never> {
  return await Promise.reject(new Error('nobody is asked for this'))
}

/** The real plan with an executor that writes no file. */
function nodeFailure({ fails }: { readonly fails?: string } = {}): Making {
  return (done, clock) =>
    createInjection({
      what: 'node-failure of node',
      prepare: () =>
        Promise.resolve({
          plan: planNodeFailure(
            { kind: 'node-failure', shutdown: false },
            { enable: '/sysrq', trigger: '/trigger' },
            '176',
          ),
        }),
      executor: {
        perform: async (command, _scope, until) => {
          if (command.do === 'wait') {
            await clock.sleep(command.ms, until)
            return
          }
          done.push(commandText(command))
          if (commandText(command) === fails) await failing()
        },
      },
      undoLog: undefined,
      proc: '/proc',
      pod: 'chaos-1',
      keyParts: ['node'],
      log: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
    })
}
