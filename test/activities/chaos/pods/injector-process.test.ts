import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import {
  inheritedVariables,
  injectorProcess,
  type InjectorSettings,
} from '../../../../activities/chaos/pods/injector-process.ts'
import { deadlineOf, injectorCondition } from '../../../../activities/chaos/pods/open.ts'
import type { KubeClient, KubeObject } from '../../../../activities/kube/client.ts'
import { KubeError } from '../../../../activities/kube/errors.ts'
import { type PodContainer, type PodState, UnstartableError } from '../../../../activities/pods.ts'
import { type PodOptions, storedPod } from './chaos-pods.ts'

let state: string
beforeAll(async () => {
  state = await mkdtemp(join(tmpdir(), 'injectors-'))
})
afterAll(() => rm(state, { recursive: true }))

/** The injector's container as the node agent describes it. */
function container(options: PodOptions = {}, pod: KubeObject = storedPod(options)): PodContainer {
  const [spec] = (pod as unknown as { spec: { containers: [{ args: string[] }] } }).spec.containers
  return {
    pod,
    spec: { ...spec },
    name: 'injector',
    image: 'i',
    isInit: false,
    command: [],
    args: spec.args,
    restarts: 0,
    env: { INJECTOR_POD_NAME: 'chaos-one', TARGET_POD_HOST_IP: '10.0.0.1', CHAOS_INJECTOR_MOUNT_HOST: '/mnt/host/' },
    workingDir: undefined,
    podIP: '10.0.0.1',
    hostIP: '10.0.0.1',
    root: '/pod/files',
    terminationLog: '/pod/log',
    outside: (path) => `/pod/files${path}`,
    mounts: [{ volume: 'host', path: '/mnt/host', outside: '/', isHostPath: true }],
  }
}

function settings(target: KubeObject | KubeError, more: Partial<InjectorSettings> = {}) {
  const asked: string[] = []
  const request = async <T>(_: string, path: string) => {
    asked.push(path)
    if (target instanceof KubeError) throw target
    return await Promise.resolve(target as T)
  }
  const kube: Pick<KubeClient, 'request'> = { request }
  const of: InjectorSettings = {
    kube,
    command: ['pawl', 'injector'],
    env: { PATH: '/bin' },
    stateFolder: state,
    hostIP: '10.0.0.1',
    mayDisturbNode: false,
    simulates: false,
    processesAnnotation: 'pawl.dev/processes',
    ...more,
  }
  return { of, asked }
}

const target = (annotation?: string): KubeObject => ({
  metadata: { name: 'app', namespace: 'n', ...(annotation && { annotations: { 'pawl.dev/processes': annotation } }) },
})
const missing = new KubeError('gone', { status: 404, reason: 'NotFound' })

describe('the command of an injector', () => {
  it('has the arguments of its pod, with paths of this machine', async () => {
    const { of } = settings(missing)
    expect(await injectorProcess(of, container({ args: ['dns', '--a', '/mnt/host/b'] }))).toEqual({
      argv: ['pawl', 'injector', 'dns', '--a', '/b'],
      env: {
        PATH: '/bin',
        INJECTOR_POD_NAME: 'chaos-one',
        TARGET_POD_HOST_IP: '10.0.0.1',
        CHAOS_INJECTOR_MOUNT_HOST: '/',
        TMPDIR: '/pod/files/tmp',
        CHAOS_INJECTOR_STATE: state,
        CHAOS_INJECTOR_READINESS_FILE: '/pod/files/tmp/readiness_probe',
        CHAOS_INJECTOR_TERMINATION_LOG: '/pod/log',
        CHAOS_INJECTOR_MOUNT_SYSRQ: '/pod/files/sysrq',
        CHAOS_INJECTOR_MOUNT_SYSRQ_TRIGGER: '/pod/files/sysrq-trigger',
      },
      files: { '/pod/files/sysrq': '', '/pod/files/sysrq-trigger': '', '/pod/log': '' },
    })
  })

  it('gets the processes in the annotation of its target', async () => {
    const { of, asked } = settings(target('{"app": 12}'))
    const { env, files } = await injectorProcess(of, container())
    expect(env['CHAOS_INJECTOR_CONTAINERS']).toBe('/pod/files/containers.json')
    expect(files?.['/pod/files/containers.json']).toBe('{"app":12}')
    expect(asked).toEqual(['/api/v1/namespaces/chaos-engineering/pods/app'])
  })

  it.each([
    [
      'is told that a target without a process is simulated, where that is asked for',
      ['cpu-pressure'],
      undefined,
      'yes',
    ],
    ['is real where the target names a process', ['cpu-pressure'], '{"app": 12}', undefined],
    ['is told that a node is simulated', ['cpu-pressure', '--level', 'node'], undefined, 'yes'],
    [
      'is real for the replacement of a pod, which needs no process',
      ['pod-replacement', 'inject'],
      undefined,
      undefined,
    ],
  ] as const)('%s', async (_, args, processes, simulated) => {
    const { of } = settings(target(processes), { simulates: true })
    const { env } = await injectorProcess(of, container({ args: [...args] }))
    expect(env['CHAOS_INJECTOR_SIMULATED']).toBe(simulated)
  })

  it('names the target by the annotation if its name is too long for a label', async () => {
    const { of, asked } = settings(target())
    const pod = storedPod({ target: 'app-1234' })
    const annotations = { 'chaos.datadoghq.com/target': 'app-of-a-long-name' }
    await injectorProcess(of, container({}, { ...pod, metadata: { ...pod.metadata, annotations } }))
    expect(asked).toEqual(['/api/v1/namespaces/chaos-engineering/pods/app-of-a-long-name'])
  })

  it('cannot be built for an invalid annotation', async () => {
    const { of } = settings(target('[]'))
    await expect(injectorProcess(of, container())).rejects.toThrow(
      new UnstartableError(
        'pawl.dev/processes of pod n/app: found []; expected numbers of processes by names of containers, such as {"app": 1234}',
      ),
    )
  })

  it('is retried when the target cannot be read', async () => {
    const away = new KubeError('away', { status: 0, reason: 'Unreachable' })
    await expect(injectorProcess(settings(away).of, container())).rejects.toBe(away)
  })

  it('is refused for level node, unless it is allowed', async () => {
    const given = container({ args: ['cpu-pressure', '--level', 'node'] })
    await expect(injectorProcess(settings(missing).of, given)).rejects.toThrow(UnstartableError)
    const { argv } = await injectorProcess(settings(missing, { mayDisturbNode: true }).of, given)
    expect(argv.slice(2)).toEqual(['cpu-pressure', '--level', 'node'])
  })

  it("gets no secrets from the agent's environment", () => {
    const env = {
      PATH: '/bin',
      PGPASSWORD: 's',
      PAWL_DATABASE_URL: 's',
      LC_ALL: 'C',
      AWS_SECRET: 's',
      EMPTY: undefined,
      CHAOS_INJECTOR_NETWORK_BACKEND: 'iptables-htb',
      CHAOS_INJECTOR_STATE: 's',
    }
    expect(inheritedVariables(env)).toEqual({
      PATH: '/bin',
      LC_ALL: 'C',
      CHAOS_INJECTOR_NETWORK_BACKEND: 'iptables-htb',
    })
  })
})

describe('the condition of a chaos pod', () => {
  const state = (
    message: string,
    more: Partial<PodState> = {},
    env: Readonly<Record<string, string>> = {},
  ): PodState => ({
    pod: storedPod(),
    phase: 'Running',
    isReady: false,
    containers: { injector: { env: { CHAOS_INJECTOR_SIMULATED: 'yes', ...env }, message } },
    ...more,
  })

  it('has the message of the injector: the simulation when it is ready, else the reason of the failure', () => {
    const type = 'pawl.dev/injector'
    expect(injectorCondition(state('simulated: x', { isReady: true }))).toEqual([
      { type, status: 'True', reason: 'Simulated', message: 'simulated: x' },
    ])
    const failed = { type, status: 'False', reason: 'NotInjected', message: 'not injected: y' }
    expect(injectorCondition(state('not injected: y'))).toEqual([failed])
    expect(injectorCondition(state('not injected: y', { phase: 'Failed' }))).toEqual([failed])
    expect(injectorCondition(state(''))).toEqual([])
  })
})

it('a played injector ends at its deadline', () => {
  expect(deadlineOf(storedPod({ args: ['x', '--deadline', '2026-01-01T00:00:00Z'] }))).toBe(Date.UTC(2026, 0, 1))
  expect(deadlineOf(storedPod())).toBeUndefined()
})
