// What the pre-run of a node failure asks before it arms anything. Source: spec/chaos.md 3.8, "never re-injected".

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import type { Finding } from '../../../../activities/chaos/injector/finding.ts'
import { prepare } from '../../../../activities/chaos/injector/prepare.ts'
import { readSettings } from '../../../../activities/chaos/injector/settings.ts'
import type { KubeClient } from '../../../../activities/kube/client.ts'
import { KubeError } from '../../../../activities/kube/kube-error.ts'
import type { Invocation } from '../../../../workflows/chaos/injector/invocation.ts'
import { readInvocation } from '../../../../workflows/chaos/injector/read-invocation.ts'
import { HandClock } from './hand-clock.ts'

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
  it('remembers what the node allows, and asks nobody outside of a cluster', async () => {
    expect(await planned(undefined)).toMatchObject({ undo: [{ do: 'write', text: '176' }] })
  })

  it.each([
    ['was taken up after the node was started', () => Promise.resolve(pod('2026-01-02T03:00:00Z'))],
    ['has no status yet', () => Promise.resolve({ metadata: { name: 'chaos-1' } })],
  ])('goes on where its pod %s', async (_what, answer) => {
    expect(await planned(answer)).toMatchObject({ apply: [{ text: '1' }] })
  })

  it('fails no node that was started again since its pod was: the injector is not the first one in it', async () => {
    await expect(planned(() => Promise.resolve(pod('2026-01-02T02:59:59Z')))).rejects.toThrow('has failed')
  })

  it('asks again where nobody answers, and fails no node when it cannot know', async () => {
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

function pod(startTime: string) {
  return { metadata: { name: 'chaos-1' }, status: { startTime } }
}

async function planned(answer: (() => Promise<object>) | undefined) {
  const settings = readSettings({
    ...{ CHAOS_INJECTOR_MOUNT_PROC: join(folder, 'proc'), CHAOS_INJECTOR_MOUNT_SYSRQ: join(folder, 'sysrq') },
    INJECTOR_POD_NAME: 'chaos-1',
  })
  const asked: string[] = []
  const request = async (method: string, path: string) => {
    asked.push(`${method} ${path}`)
    return await answer?.()
  }
  const client = { request } as unknown as KubeClient
  const finding: Finding = {
    ...{ settings, clock: impatient, run: nothing, lookup: nothing, serviceAddresses: nothing },
    log: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
    cluster: answer && { client: () => Promise.resolve(client), close: () => Promise.resolve() },
  }
  const invocation = readInvocation(['node-failure', 'inject', '--level', 'node']) as Invocation
  const { plan } = await prepare(finding, invocation, [{ name: 'node', main: { pid: 1, startTime: '1' } }])
  expect([...new Set(asked)]).toEqual(answer ? ['GET /api/v1/namespaces/chaos-engineering/pods/chaos-1'] : [])
  return plan
}

/** Pauses between tries are none of this. */
const impatient = Object.assign(new HandClock(), { sleep: () => Promise.resolve() })

async function nothing(): Promise<never> {
  return await Promise.reject(new Error('nobody is asked for this'))
}
