import { describe, expect, it } from 'vitest'

import { PodFolder } from '../../../../activities/chaos/node-agent/pod-folder.ts'
import {
  type InjectorSettings,
  inheritedVariables,
  prepareInjector,
} from '../../../../activities/chaos/node-agent/prepare-injector.ts'
import { Unstartable } from '../../../../activities/chaos/node-agent/process-run.ts'
import { readPod } from '../../../../activities/chaos/node-agent/read-pod.ts'
import type { KubeClient, KubeObject } from '../../../../activities/kube/client.ts'
import { KubeError } from '../../../../activities/kube/errors.ts'
import { storedPod } from './chaos-pods.ts'

const folder = new PodFolder('/state/pods/uid-1')

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
    stateFolder: '/state/injectors',
    hostIP: '10.0.0.1',
    podIP: '10.0.0.2',
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
    expect(await prepareInjector(of, readPod(storedPod({ args: ['dns', '--a', '/mnt/host/b'] })), folder)).toEqual({
      argv: ['pawl', 'injector', 'dns', '--a', '/b'],
      env: {
        PATH: '/bin',
        INJECTOR_POD_NAME: 'chaos-one',
        TARGET_POD_HOST_IP: '10.0.0.1',
        CHAOS_INJECTOR_MOUNT_HOST: '/',
        TMPDIR: '/state/pods/uid-1/files/tmp',
        CHAOS_INJECTOR_STATE: '/state/injectors',
        CHAOS_INJECTOR_READINESS_FILE: '/state/pods/uid-1/files/tmp/readiness_probe',
        CHAOS_INJECTOR_TERMINATION_LOG: '/state/pods/uid-1/termination-log',
        CHAOS_INJECTOR_MOUNT_SYSRQ: '/state/pods/uid-1/files/sysrq',
        CHAOS_INJECTOR_MOUNT_SYSRQ_TRIGGER: '/state/pods/uid-1/files/sysrq-trigger',
      },
      files: {
        '/state/pods/uid-1/files/sysrq': '',
        '/state/pods/uid-1/files/sysrq-trigger': '',
        '/state/pods/uid-1/termination-log': '',
      },
    })
  })

  it('gets the processes in the annotation of its target', async () => {
    const { of, asked } = settings(target('{"app": 12}'))
    const { env, files } = await prepareInjector(of, readPod(storedPod()), folder)
    expect(env['CHAOS_INJECTOR_CONTAINERS']).toBe('/state/pods/uid-1/containers.json')
    expect(files['/state/pods/uid-1/containers.json']).toBe('{"app":12}')
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
    const { env } = await prepareInjector(of, readPod(storedPod({ args })), folder)
    expect(env['CHAOS_INJECTOR_SIMULATED']).toBe(simulated)
  })

  it('names the target by the annotation if its name is too long for a label', async () => {
    const { of, asked } = settings(target())
    const pod = storedPod({ target: 'app-1234' })
    const annotations = { 'chaos.datadoghq.com/target': 'app-of-a-long-name' }
    await prepareInjector(of, readPod({ ...pod, metadata: { ...pod.metadata, annotations } }), folder)
    expect(asked).toEqual(['/api/v1/namespaces/chaos-engineering/pods/app-of-a-long-name'])
  })

  it('cannot be built for an invalid annotation', async () => {
    const { of } = settings(target('[]'))
    await expect(prepareInjector(of, readPod(storedPod()), folder)).rejects.toThrow(
      new Unstartable(
        'pawl.dev/processes of pod n/app: found []; expected numbers of processes by names of containers, such as {"app": 1234}',
      ),
    )
  })

  it('is retried when the target cannot be read', async () => {
    const away = new KubeError('away', { status: 0, reason: 'Unreachable' })
    await expect(prepareInjector(settings(away).of, readPod(storedPod()), folder)).rejects.toBe(away)
  })

  it('is refused for level node, unless it is allowed', async () => {
    const pod = readPod(storedPod({ args: ['cpu-pressure', '--level', 'node'] }))
    await expect(prepareInjector(settings(missing).of, pod, folder)).rejects.toThrow(Unstartable)
    const { argv } = await prepareInjector(settings(missing, { mayDisturbNode: true }).of, pod, folder)
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
