// Pods as real processes: started, found again, restarted, ended and swept, with their volumes and environment.

import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { kill } from 'node:process'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import type { KubeObject } from '../../../activities/kube/client.ts'
import { KubeError } from '../../../activities/kube/errors.ts'
import { type OpenPods, UnstartableError } from '../../../activities/pods.ts'
import type { AgentPod } from '../../../worker/node-agent/agent-pod.ts'
import { findNamespaces, type Namespaces } from '../../../worker/node-agent/container-root.ts'
import type { PodFacts } from '../../../worker/node-agent/decide.ts'
import { PodFolder } from '../../../worker/node-agent/pod-folder.ts'
import { ProcessPod } from '../../../worker/node-agent/pod-run.ts'
import { signalTo } from '../../../worker/node-agent/processes.ts'
import { WatchedObjects } from '../../../worker/node-agent/watched-objects.ts'
import { isRunning } from '../../../worker/server/process-identity.ts'
import { agentPod } from './pods.ts'

const GOOD = 'trap "echo cleaned; exit 0" TERM; echo started; touch ready; while :; do sleep 0.02; done'
const DEAF = 'trap "" TERM; touch ready; while :; do sleep 0.02; done'
const READY = { exec: { command: ['test', '-f', 'ready'] }, periodSeconds: 0.05 }
const PATIENCE = { timeout: 10_000, interval: 20 }

const found = await findNamespaces(process.env['PATH'] ?? '')
const namespaces: Namespaces | undefined = 'problem' in found ? undefined : found
let dir: string
let folder: PodFolder
const made: ProcessPod[] = []

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'node-agent-'))
  folder = new PodFolder(join(dir, 'uid-1'))
})
afterEach(async () => {
  for (const run of made.splice(0)) {
    await run.kill().catch(() => undefined)
    run.close()
  }
  const { process, shim } = await traces()
  if (process !== undefined) signalTo(process, 'SIGKILL', 'group')
  if (shim !== undefined) await vi.waitFor(() => expect(isRunning(shim)).toBe(false), PATIENCE)
  // A process that just ended may still have created a file.
  await rm(dir, { recursive: true, maxRetries: 5 })
})

const traces = async (run = 0) => await folder.container('main').run(run).traces()
const log = async (run = 0, container = 'main') =>
  await readFile(folder.container(container).run(run).log, 'utf8').catch(() => '')

async function claimFolder(): Promise<string> {
  await mkdir(join(dir, 'claim'), { recursive: true })
  return join(dir, 'claim')
}

const script = (text: string, more: object = {}) => ({ name: 'main', command: ['sh', '-c', text], ...more })
/** The view of another agent of the same pod. Containers run their commands. */
function runOf(pod: AgentPod, pods: Partial<OpenPods> = {}, objects: readonly KubeObject[] = []): ProcessPod {
  const process: OpenPods['process'] = async ({ command, args, env }) =>
    await Promise.resolve({ argv: [...command, ...args], env: { PATH: '/usr/bin:/bin', ...env } })
  const kube = {
    request: async <T>(_: string, path: string) => {
      const found = objects.find(({ metadata: { name } }) => path.endsWith(`/${name}`))
      if (found === undefined) throw new KubeError('missing', { status: 404, reason: 'NotFound' })
      return await Promise.resolve(found as T)
    },
    stream: async () => await Promise.reject(new Error('no watch')),
  }
  const run = new ProcessPod(pod, {
    wing: 'test',
    pods: { process, ...pods },
    kube,
    folder,
    hostIP: '127.0.0.1',
    podIP: '127.64.0.1',
    objects: new WatchedObjects(kube),
    namespaces,
    claimFolder,
    onChange: () => undefined,
    now: () => Date.now(),
  })
  made.push(run)
  return run
}

const ABSENT = { run: { state: 'none' as const }, restarts: 0, crashes: 0 }
async function started(pod: AgentPod, ...more: [Partial<OpenPods>?, (readonly KubeObject[])?]): Promise<ProcessPod> {
  const run = runOf(pod, ...more)
  await run.accept(pod, 77)
  await run.start('main', ABSENT)
  return run
}

async function until(run: ProcessPod, expected: object): Promise<PodFacts> {
  return await vi.waitFor(async () => {
    const found = await run.look(Date.now())
    expect(found.containers['main']).toMatchObject(expected)
    return found
  }, PATIENCE)
}

const good = agentPod({ containers: [script(GOOD, { readinessProbe: READY })] })
const deaf = agentPod({ containers: [script(DEAF, { readinessProbe: READY })] })
const RUNNING = { run: { state: 'running', isReady: true } }

describe('the process of a container', () => {
  it('is absent, runs, becomes ready, terminates, and ends with code 0', async () => {
    const run = runOf(good)
    expect((await run.look(Date.now())).acceptedMs).toBeUndefined()
    await run.accept(good, 77)
    await run.start('main', ABSENT)
    expect((await until(run, RUNNING)).acceptedMs).toBe(77)
    await run.terminate('deleted', 60_000, 5)
    const facts = await until(run, { run: { state: 'ended', exit: { how: 'exited', code: 0 } } })
    expect(facts.ending).toEqual({ why: 'deleted', sinceMs: 5, graceMs: 60_000, isKilled: false })
    expect(await log()).toBe('started\ncleaned\n')
  })

  it('is killed with its children when it ignores the signal, also with those in other sessions', async () => {
    const pod = agentPod({
      containers: [script(`setsid sleep 1000 & echo $! >child; ${DEAF}`, { readinessProbe: READY })],
    })
    const run = await started(pod)
    await until(run, RUNNING)
    await run.terminate('deadline', 0, Date.now())
    await run.kill()
    const facts = await until(run, { run: { state: 'ended', exit: { how: 'exited', code: 137 } } })
    expect(facts.ending?.isKilled).toBe(true)
    const child = (await readFile(join(folder.container('main').root, 'child'), 'utf8')).trim()
    await vi.waitFor(async () => expect(await stateOf(child)).toMatch(/^(?:gone|Z)$/), PATIENCE)
  })

  it('is found by the next agent with its exit code', async () => {
    await started(good)
    const next = runOf(good)
    await until(next, RUNNING)
    await next.terminate('deleted', 60_000, Date.now())
    await until(runOf(good), { run: { state: 'ended', exit: { how: 'exited', code: 0 } } })
  })

  it('is lost when it is killed together with its shim, and continues without it', async () => {
    const run = await started(good)
    await until(run, RUNNING)
    const { shim, process } = await traces()
    kill(shim!.pid, 'SIGKILL')
    await vi.waitFor(() => expect(isRunning(shim!)).toBe(false), PATIENCE)
    await until(run, RUNNING)
    signalTo(process!, 'SIGKILL', 'process')
    await until(run, { run: { state: 'ended', exit: { how: 'lost' } } })
  })

  it('is started once by concurrent agents', async () => {
    await started(good)
    await runOf(good)
      .start('main', ABSENT)
      .catch(() => undefined)
    // It is ready after its first line.
    await until(runOf(good), RUNNING)
    expect(await log()).toBe('started\n')
  })

  it('from before a reboot is lost, and its PID gets no signal', async () => {
    await started(good)
    await until(runOf(good), RUNNING)
    await folder.write({ ...(await folder.read())!, bootId: 'another' })
    const run = runOf(good)
    await until(run, { run: { state: 'ended', exit: { how: 'lost' } } })
    expect(isRunning((await traces()).process!)).toBe(true)
  })

  it('restarts with a new log and the same files, and reports the run before', async () => {
    const pod = agentPod({
      restartPolicy: 'Always',
      containers: [script('echo run; echo x >>file; wc -l <file; exit 3')],
    })
    const run = await started(pod)
    const first = await until(run, { run: { state: 'ended', exit: { code: 3 } }, restarts: 0, crashes: 1 })
    await run.start('main', first.containers['main']!)
    await until(run, { run: { state: 'ended' }, restarts: 1, crashes: 2, last: { exit: { how: 'exited', code: 3 } } })
    expect([await log(0), await log(1)]).toEqual(['run\n1\n', 'run\n2\n'])
    // Another agent reads the same.
    await until(runOf(pod), { run: { state: 'ended' }, restarts: 1, crashes: 2, last: { exit: { code: 3 } } })
  })

  it('restarts with the image that the pod has now, also for the next agent', async () => {
    const images: string[] = []
    const process: OpenPods['process'] = async ({ image }) => {
      images.push(image)
      return await Promise.resolve({ argv: ['sh', '-c', GOOD], env: { PATH: '/usr/bin:/bin' } })
    }
    const podOf = (image: string) => agentPod({ containers: [script('', { image, readinessProbe: READY })] })
    const run = await started(podOf('one'), { process })
    await until(run, { run: { state: 'running', isReady: true, image: 'one' } })
    run.update(podOf('two'))
    await run.terminate('image', 60_000, Date.now(), 'main')
    const { containers } = await until(run, { run: { state: 'ended', why: 'image', image: 'one' } })
    await run.start('main', containers['main']!)
    await until(run, { run: { state: 'running', image: 'two' }, restarts: 1, crashes: 0, last: { image: 'one' } })
    expect(images).toEqual(['one', 'two'])
    expect((await folder.read())?.pod).toMatchObject({ spec: { containers: [{ image: 'two' }] } })
  })

  it('is unhealthy when its liveness probe fails, and can be terminated alone', async () => {
    const livenessProbe = { ...READY, exec: { command: ['false'] }, failureThreshold: 2 }
    const run = await started(agentPod({ containers: [script(DEAF, { livenessProbe })] }))
    await until(run, { run: { state: 'running', isUnhealthy: true } })
    await run.terminate('unhealthy', 0, Date.now(), 'main')
    await run.kill('main')
    const facts = await until(run, { run: { state: 'ended', exit: { how: 'exited', code: 137 } } })
    expect(facts.ending).toBeUndefined()
  })

  it('writes a termination message', async () => {
    const pods: Partial<OpenPods> = {
      process: async ({ terminationLog }) =>
        await Promise.resolve({ argv: ['sh', '-c', 'printf because >$LOG; exit 1'], env: { LOG: terminationLog } }),
    }
    await until(await started(deaf, pods), { run: { state: 'ended', message: 'because' } })
  })
})

describe('a container that cannot be started', () => {
  it('has a missing program', async () => {
    const run = await started(agentPod({ containers: [{ name: 'main', command: ['no-such-program'] }] }))
    await until(run, { run: { state: 'ended', exit: { how: 'unstarted' } } })
  })

  it('reports the reason', async () => {
    const process = async () => await Promise.reject(new UnstartableError('env A: found nothing'))
    await until(await started(good, { process }), {
      run: { state: 'ended', exit: { how: 'unstarted', message: 'env A: found nothing' } },
    })
  })

  it('may not mount a path of the machine', async () => {
    const volumes = [{ name: 'host', hostPath: { path: '/' } }]
    const containers = [script('true', { volumeMounts: [{ name: 'host', mountPath: '/host' }] })]
    await until(await started(agentPod({ containers, volumes })), {
      run: {
        state: 'ended',
        exit: { how: 'unstarted', message: expect.stringContaining('hostPath "/" is not allowed') as string },
      },
    })
  })

  it('waits for a missing Secret', async () => {
    const env = [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }]
    const pod = agentPod({ containers: [script('true', { env })] })
    const run = runOf(pod)
    await run.accept(pod, 1)
    const message = 'env A: key "k" of secret "s" does not exist'
    await expect(run.start('main', ABSENT)).rejects.toThrow(message)
    expect(run.waiting).toEqual({ main: { reason: 'CreateContainerConfigError', message } })
  })
})

describe('the container of a pod', () => {
  it('has variables of the pod and of other objects, in its command and its environment', async () => {
    const env = [
      ...[
        { name: 'A', value: 'a' },
        { name: 'B', value: '$(A)/$(NONE)/$$(A)' },
      ],
      { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
      { name: 'S', valueFrom: { secretKeyRef: { name: 'secret', key: 'k' } } },
    ]
    const envFrom = [{ prefix: 'CM_', configMapRef: { name: 'map' } }]
    const command = ['sh', '-c', 'echo "$0 $B $IP $S $CM_x"', '$(A)']
    const objects = [
      { metadata: { name: 'secret' }, data: { k: Buffer.from('hidden').toString('base64') } },
      { metadata: { name: 'map' }, data: { x: 'y' } },
    ]
    await started(agentPod({ containers: [{ name: 'main', command, env, envFrom }] }), {}, objects)
    await vi.waitFor(async () => expect(await log()).toBe('a a/$(NONE)/$(A) 127.64.0.1 hidden y\n'), PATIENCE)
  })

  it('shares an emptyDir, keeps a claim, and sees fields of the pod in files that are replaced together', async () => {
    const volumes = [
      ...[
        { name: 'shared', emptyDir: {} },
        { name: 'data', persistentVolumeClaim: { claimName: 'c' } },
      ],
      { name: 'info', downwardAPI: { items: [{ path: 'deep/labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
    ]
    const volumeMounts = [
      ...[
        { name: 'shared', mountPath: '/tmp' },
        { name: 'data', mountPath: '/var/data', subPath: 'sub' },
      ],
      { name: 'info', mountPath: '/etc/info' },
    ]
    const text = 'echo kept >var/data/file; cat etc/info/deep/labels; sleep 1000'
    const pod = agentPod({ containers: [script(text, { volumeMounts })], volumes })
    const run = await started(pod)
    await vi.waitFor(async () => expect(await log()).toBe('app="yes"'), PATIENCE)
    expect(await readFile(join(dir, 'claim/sub/file'), 'utf8')).toBe('kept\n')
    run.update(agentPod({ containers: [script(text, { volumeMounts })], volumes, metadata: { labels: { app: 'no' } } }))
    await run.look(Date.now())
    const { root } = folder.container('main')
    expect(await readFile(join(root, 'etc/info/deep/labels'), 'utf8')).toBe('app="no"')
    expect(await readFile(join(root, 'etc/info/..data/deep/labels'), 'utf8')).toBe('app="no"')
  })
})

describe.skipIf(namespaces === undefined)('a container with a file system', () => {
  const process: OpenPods['process'] = async ({ command, args }) => {
    const greet = join(dir, 'greet')
    await writeFile(greet, '#!/usr/bin/env sh\necho "hello from $0"\n', { mode: 0o755 })
    const env = { PATH: '/usr/bin:/bin' }
    return { argv: [...command, ...args], env, image: { '/usr/bin/greet': greet } }
  }
  const fileSystem = { process, fileSystem: 'container' } as const
  const volumes = [
    ...[
      { name: 'shared', emptyDir: {} },
      { name: 'data', persistentVolumeClaim: { claimName: 'c' } },
    ],
    { name: 'info', downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
  ]
  const volumeMounts = [
    ...[
      { name: 'shared', mountPath: '/var/log/own logs' },
      { name: 'data', mountPath: '/var/data' },
    ],
    ...[
      { name: 'shared', mountPath: '/var/data/inner/logs' },
      { name: 'info', mountPath: '/etc/info' },
    ],
    { name: 'info', mountPath: '/etc/labels', subPath: 'labels' },
  ]
  const podOf = (text: string) =>
    agentPod({
      restartPolicy: 'Always',
      containers: [
        script(text, {
          volumeMounts,
          readinessProbe: { ...READY, exec: { command: ['test', '-f', '/var/data/ready'] } },
        }),
      ],
      volumes,
    })

  it('finds mounts and files of its image at their paths, and the files of the machine elsewhere', async () => {
    const pod = podOf(`
      greet; pwd; cat /etc/info/labels /etc/labels; echo
      echo log >'/var/log/own logs/a'; cat /var/data/inner/logs/a; touch /var/data/kept /own
      test -d /var/lib && test -c /dev/null && test -r /proc/self/stat && test -e /etc/passwd && echo machine
      ls ${dir}/uid-1/pod.json; exit 3`)
    const run = await started(pod, fileSystem)
    const first = await until(run, { run: { state: 'ended', exit: { how: 'exited', code: 3 } } })
    const labels = 'app="yes"'
    expect(await log()).toBe(
      ['hello from /usr/bin/greet', '/', `${labels}${labels}`, 'log', 'machine', `${dir}/uid-1/pod.json`, ''].join(
        '\n',
      ),
    )
    await expect(readFile(join(dir, 'claim/kept'))).resolves.toHaveLength(0)
    // A restart finds the root folder with its content.
    await run.start('main', first.containers['main']!)
    await until(run, { run: { state: 'ended', exit: { how: 'exited', code: 3 } }, restarts: 1 })
    await run.sweep(first)
    expect(await readdir(dir)).toEqual(expect.not.arrayContaining(['uid-1']))
    await expect(readFile(join(dir, 'claim/kept'))).resolves.toHaveLength(0)
  })

  it('is probed in it, gets signals, and is killed with its children', async () => {
    const run = await started(
      podOf(
        `setsid sleep 1000 & echo $! >/var/data/child; trap 'exit 7' TERM; touch /var/data/ready; while :; do sleep 0.02; done`,
      ),
      fileSystem,
    )
    await until(run, RUNNING)
    await run.terminate('deleted', 60_000, Date.now())
    await until(run, { run: { state: 'ended', exit: { how: 'exited', code: 7 } } })
    const child = (await readFile(join(dir, 'claim/child'), 'utf8')).trim()
    await vi.waitFor(async () => expect(await stateOf(child)).toMatch(/^(?:gone|Z)$/), PATIENCE)
  })

  it('ends with code 127 if the program does not exist', async () => {
    const pod = agentPod({ containers: [{ name: 'main', command: ['no-such-program'] }] })
    await until(await started(pod, fileSystem), { run: { state: 'ended', exit: { how: 'exited', code: 127 } } })
  })
})

describe('the clean-up of a pod', () => {
  it('gets the end of each container, is repeated when it fails, and removes all files', async () => {
    const ends: (number | undefined)[] = []
    let failures = 1
    const cleanUp: OpenPods['cleanUp'] = async ({ exitCode, env }) => {
      if (failures-- > 0) throw new Error('not now')
      ends.push(exitCode)
      expect(env['PAWL_CONTAINER']).toBe('uid-1/main/0')
      await Promise.resolve()
    }
    const run = await started(agentPod({ containers: [script('exit 4')] }), { cleanUp })
    const facts = await until(run, { run: { state: 'ended' } })
    await expect(run.sweep(facts)).rejects.toThrow('not now')
    expect(await folder.read()).toBeDefined()
    await run.sweep(facts)
    expect(ends).toEqual([4])
    expect(await folder.read()).toBeUndefined()
  })

  it('reports an invalid record', async () => {
    const pod = agentPod()
    await runOf(pod).accept(pod, 1)
    await writeFile(join(folder.path, 'pod.json'), '{"version":1}')
    await expect(folder.read()).rejects.toThrow('pod.json: found version 1; expected 2')
  })
})

async function stateOf(pid: string): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  return stat?.split(') ')[1]?.[0] ?? 'gone'
}
