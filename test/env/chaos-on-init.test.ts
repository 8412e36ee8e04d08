// A pod with onInit: a real handler and a real injector in a test network. Source: spec/chaos.md 2.10, 3.4 (5).

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { ChaosStage, type Container, inside, networkState, openTables, whyNot } from './chaos-stage.ts'

const missing = whyNot(['ip', 'tc', 'iptables', 'iptables-restore', 'nsenter', 'unshare'])
const because = missing === undefined ? '' : ` (skipped: ${missing})`

const PEER = '10.89.0.1'
const POD = '10.89.0.2'
const PROGRAM = join(import.meta.dirname, '../../worker/program.ts')

let stage: ChaosStage
let sandbox: Container
let before: string

interface Handler {
  readonly pid: number
  readonly kill: () => void
  /** Its exit code, and the rules of the pod's network at its end. */
  readonly ended: Promise<{ readonly code: number | null; readonly rules: string }>
}

/** Runs in the pod's network; resolves when the handler waits. */
async function handler(): Promise<Handler> {
  const child = spawn(
    'nsenter',
    [
      `--net=/proc/${sandbox.pid}/ns/net`,
      '--',
      process.execPath,
      PROGRAM,
      'injector',
      'chaos-handler',
      '--timeout',
      '1h',
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const ended = once(child, 'exit').then(([code]) => ({
    code: code as number | null,
    rules: inside(sandbox, 'iptables-save'),
  }))
  await once(createInterface({ input: child.stdout }), 'line')
  return { pid: child.pid ?? 0, kill: () => void child.kill('SIGKILL'), ended }
}

describe.skipIf(missing !== undefined)(`a pod that waits to be disturbed${because}`, { timeout: 120_000 }, () => {
  let waiting: Handler
  beforeEach(async () => {
    stage = await ChaosStage.open()
    const peer = await stage.container()
    sandbox = await stage.container()
    await stage.connect(peer, sandbox, { one: [PEER], other: POD })
    openTables(sandbox)
    before = networkState(sandbox)
    waiting = await handler()
  })
  afterEach(async () => {
    waiting.kill()
    await stage.close()
  })

  const args = (...more: readonly string[]) => [
    ...['network-disruption', '--level', 'pod', '--on-init', '--drop', '100', ...more],
    ...['--target-containers', `chaos-handler;process://${waiting.pid}`],
  ]

  it('starts after its disruption, which ends with the injector', async () => {
    const injector = await stage.injected(args('--hosts', `${PEER};9001;udp`))
    const { code, rules } = await waiting.ended
    expect(code).toBe(0)
    expect(rules).toContain('CHAOS-NET')
    await injector.end()
    expect(networkState(sandbox)).toBe(before)
  })

  it('starts if it could not be disturbed, and the injector reports it and is not ready', async () => {
    const injector = stage.injector(args('--delay', '100'), { env: { CHAOS_INJECTOR_NETWORK_BACKEND: 'iptables-htb' } })
    expect((await waiting.ended).code).toBe(0)
    expect(injector.isReady()).toBe(false)
    await injector.says('not injected')
    await injector.end()
    expect(networkState(sandbox)).toBe(before)
  })

  it('starts in a dry run, which changes nothing', async () => {
    const injector = await stage.injected(args('--dry-run'))
    expect((await waiting.ended).code).toBe(0)
    expect(networkState(sandbox)).toBe(before)
    await injector.end()
  })
})
