// The termination message of the injector, which the kubelet copies into the status of its pod; the program runs in
// this process.

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { run } from '../../../../activities/chaos/injector/injector.ts'
import { TerminationMessage } from '../../../../activities/chaos/injector/termination-message.ts'

let folder: string
let file: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-termination-'))
  file = join(folder, 'termination-log')
  await writeFile(file, '')
})
afterEach(() => rm(folder, { recursive: true }))

/** Occurs in no control group of this machine. */
const CONTAINER = 'no-container-of-this-machine'
const COMMON = [
  ...[
    '--level',
    'pod',
    '--target-containers',
    `app;containerd://${CONTAINER}`,
    '--chaos-namespace',
    'chaos-engineering',
  ],
  ...['--log-context-disruption-name', 'd', '--log-context-disruption-namespace', 'shop'],
  ...['--log-context-disruption-uid', 'u', '--log-context-target-name', 'web', '--log-context-target-node-name', 'n1'],
]

/** Runs until its end, or until 300 ms after it is ready. */
async function injector(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const end = new AbortController()
  const readinessFile = join(folder, 'ready')
  const printed: string[] = []
  const running = run({
    args,
    self: ['false'],
    end: end.signal,
    print: (text) => {
      printed.push(text)
      if (text.includes('"injected"') || text.includes('not injected')) end.abort()
    },
    complain: () => undefined,
    env: {
      CHAOS_INJECTOR_TERMINATION_LOG: file,
      CHAOS_INJECTOR_STATE: join(folder, 'state'),
      CHAOS_INJECTOR_READINESS_FILE: readinessFile,
      CHAOS_INJECTOR_MOUNT_PROC: '/proc',
      ...env,
    },
  })
  return { code: await running, printed: printed.join(''), message: await readFile(file, 'utf8') }
}

describe('the termination message of an injector', () => {
  it('names a missing target', async () => {
    const { code, message } = await injector(['cpu-pressure', ...COMMON])
    expect(code).toBe(1)
    expect(message).toBe(`the target does not exist: container app (containerd://${CONTAINER}) has no process`)
  })

  it('names an invalid flag', async () => {
    const { code, message } = await injector(['cpu-pressure', '--count', 'many', ...COMMON])
    expect(code).toBe(1)
    expect(message).toContain('--count')
  })

  it('contains the reason of a failed injection', async () => {
    const { message } = await injector([
      'disk-failure',
      '--path',
      '/a',
      ...COMMON.map((arg) => (arg.startsWith('app;') ? `app;process://${process.pid}` : arg)),
    ])
    expect(message).toMatch(/^not injected: disk-failure of app: Unsupported: disk-failure needs an eBPF program/)
  })

  it('has at most 4096 bytes, and each reason once', async () => {
    const message = new TerminationMessage(file)
    message.add('a')
    message.add('a')
    expect(await readFile(file, 'utf8')).toBe('a')
    message.add('b'.repeat(5000))
    expect(await readFile(file)).toHaveLength(4096)
  })

  it('is not written outside of a pod', async () => {
    new TerminationMessage(join(folder, 'missing')).add('a')
    await expect(readFile(join(folder, 'missing'))).rejects.toThrow('ENOENT')
  })
})

describe('a simulation', () => {
  it.each([
    ['network-disruption', ['--drop', '30'], 'tc qdisc add dev eth0'],
    ['cpu-pressure', ['--count', '50%'], 'cpu-pressure-stress --percentage 50'],
    ['memory-pressure', ['--target-percent', '76'], 'memory-pressure-stress'],
    ['disk-pressure', ['--path', '/data', '--read-bytes-per-sec', '1024'], 'io.max'],
    ['container-failure', ['--forced'], 'send SIGKILL to the first process of the container'],
  ])('of %s reports the commands, becomes ready, and does nothing', async (kind, flags, command) => {
    const { code, message } = await injector([kind, ...flags, ...COMMON], { CHAOS_INJECTOR_SIMULATED: 'yes' })
    expect(code).toBe(0)
    expect(message).toMatch(/^simulated: the target has no process, so nothing is disturbed; the injector would run: /)
    expect(message).toContain(command)
  })

  it('of an unsupported disruption fails, as in a cluster', async () => {
    const { message } = await injector(['disk-failure', '--path', '/a', ...COMMON], { CHAOS_INJECTOR_SIMULATED: 'yes' })
    expect(message).toContain('Unsupported')
    expect(message).not.toContain('simulated')
  })

  it('is refused in a pod of a cluster', async () => {
    const env = { CHAOS_INJECTOR_SIMULATED: 'yes', KUBERNETES_SERVICE_HOST: '10.0.0.1' }
    const { code, printed } = await injector(['cpu-pressure', ...COMMON], env)
    expect([code, printed]).toEqual([1, ''])
  })
})
