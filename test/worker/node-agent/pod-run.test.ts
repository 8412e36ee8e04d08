// Pods as real processes: started, found again, restarted, ended and swept, with their volumes and environment. Containers
// with a file system: pod-file-system.test.ts.

import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { kill } from 'node:process'
import { describe, expect, it, vi } from 'vitest'

import { type OpenPods, UnstartableError } from '../../../activities/pods.ts'
import { signalTo } from '../../../worker/node-agent/processes.ts'
import { isRunning } from '../../../worker/server/process-identity.ts'
import { ABSENT, DEAF, PATIENCE, READY, RUNNING, script, stateOf, until, usePodStage } from './pod-stage.ts'

const GOOD = 'trap "echo cleaned; exit 0" TERM; echo started; touch ready; while :; do sleep 0.02; done'

const stage = usePodStage()
const good = stage.pod({ containers: [script(GOOD, { readinessProbe: READY })] })
const deaf = stage.pod({ containers: [script(DEAF, { readinessProbe: READY })] })

describe('the process of a container', () => {
  it('is absent, runs, becomes ready, terminates, and ends with code 0', async () => {
    const run = stage.runOf(good)
    expect((await run.look(Date.now())).acceptedMs).toBeUndefined()
    await run.accept(good, 77)
    await run.start('main', ABSENT)
    expect((await until(run, RUNNING)).acceptedMs).toBe(77)
    await run.terminate('deleted', 60_000, 5)
    const facts = await until(run, { run: { state: 'ended', exit: { how: 'exited', code: 0 } } })
    expect(facts.ending).toEqual({ why: 'deleted', sinceMs: 5, graceMs: 60_000, isKilled: false })
    expect(await stage.log()).toBe('started\ncleaned\n')
  })

  it('is killed with its children when it ignores the signal, also with those in other sessions', async () => {
    const pod = stage.pod({
      containers: [script(`setsid sleep 1000 & echo $! >child; ${DEAF}`, { readinessProbe: READY })],
    })
    const run = await stage.started(pod)
    await until(run, RUNNING)
    await run.terminate('deadline', 0, Date.now())
    await run.kill()
    const facts = await until(run, { run: { state: 'ended', exit: { how: 'exited', code: 137 } } })
    expect(facts.ending?.isKilled).toBe(true)
    const child = (await readFile(join(stage.folder.container('main').root, 'child'), 'utf8')).trim()
    await vi.waitFor(async () => expect(await stateOf(child)).toMatch(/^(?:gone|Z)$/), PATIENCE)
  })

  it('is found by the next agent with its exit code', async () => {
    await stage.started(good)
    const next = stage.runOf(good)
    await until(next, RUNNING)
    await next.terminate('deleted', 60_000, Date.now())
    await until(stage.runOf(good), { run: { state: 'ended', exit: { how: 'exited', code: 0 } } })
  })

  it('is lost when it is killed together with its shim, and continues without it', async () => {
    const run = await stage.started(good)
    await until(run, RUNNING)
    const { shim, process } = await stage.traces()
    kill(shim!.pid, 'SIGKILL')
    await vi.waitFor(() => expect(isRunning(shim!)).toBe(false), PATIENCE)
    await until(run, RUNNING)
    signalTo(process!, 'SIGKILL', 'process')
    await until(run, { run: { state: 'ended', exit: { how: 'lost' } } })
  })

  it('is started once by concurrent agents', async () => {
    await stage.started(good)
    await stage
      .runOf(good)
      .start('main', ABSENT)
      .catch(() => undefined)
    // It is ready after its first line.
    await until(stage.runOf(good), RUNNING)
    expect(await stage.log()).toBe('started\n')
  })

  it('from before a reboot is lost, and its PID gets no signal', async () => {
    await stage.started(good)
    await until(stage.runOf(good), RUNNING)
    await stage.folder.write({ ...(await stage.folder.read())!, bootId: 'another' })
    const run = stage.runOf(good)
    await until(run, { run: { state: 'ended', exit: { how: 'lost' } } })
    expect(isRunning((await stage.traces()).process!)).toBe(true)
  })

  it('restarts with a new log and the same files, and reports the run before', async () => {
    const pod = stage.pod({
      restartPolicy: 'Always',
      containers: [script('echo run; echo x >>file; wc -l <file; exit 3')],
    })
    const run = await stage.started(pod)
    const first = await until(run, { run: { state: 'ended', exit: { code: 3 } }, restarts: 0, crashes: 1 })
    await run.start('main', first.containers['main']!)
    await until(run, { run: { state: 'ended' }, restarts: 1, crashes: 2, last: { exit: { how: 'exited', code: 3 } } })
    expect([await stage.log(0), await stage.log(1)]).toEqual(['run\n1\n', 'run\n2\n'])
    // Another agent reads the same.
    await until(stage.runOf(pod), { run: { state: 'ended' }, restarts: 1, crashes: 2, last: { exit: { code: 3 } } })
  })

  it('restarts with the image that the pod has now, also for the next agent', async () => {
    const images: string[] = []
    const process: OpenPods['process'] = async ({ image }) => {
      images.push(image)
      return await Promise.resolve({ argv: ['sh', '-c', GOOD], env: { PATH: '/usr/bin:/bin' } })
    }
    const podOf = (image: string) => stage.pod({ containers: [script('', { image, readinessProbe: READY })] })
    const run = await stage.started(podOf('one'), { process })
    await until(run, { run: { state: 'running', isReady: true, image: 'one' } })
    run.update(podOf('two'))
    await run.terminate('image', 60_000, Date.now(), 'main')
    const { containers } = await until(run, { run: { state: 'ended', why: 'image', image: 'one' } })
    await run.start('main', containers['main']!)
    await until(run, { run: { state: 'running', image: 'two' }, restarts: 1, crashes: 0, last: { image: 'one' } })
    expect(images).toEqual(['one', 'two'])
    expect((await stage.folder.read())?.pod).toMatchObject({ spec: { containers: [{ image: 'two' }] } })
  })

  it('is unhealthy when its liveness probe fails, and can be terminated alone', async () => {
    const livenessProbe = { ...READY, exec: { command: ['false'] }, failureThreshold: 2 }
    const run = await stage.started(stage.pod({ containers: [script(DEAF, { livenessProbe })] }))
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
    await until(await stage.started(deaf, pods), { run: { state: 'ended', message: 'because' } })
  })
})

describe('a container that cannot be started', () => {
  it('has a missing program', async () => {
    const run = await stage.started(stage.pod({ containers: [{ name: 'main', command: ['no-such-program'] }] }))
    await until(run, { run: { state: 'ended', exit: { how: 'unstarted' } } })
  })

  it('reports the reason', async () => {
    const process = async () => await Promise.reject(new UnstartableError('env A: found nothing'))
    await until(await stage.started(good, { process }), {
      run: { state: 'ended', exit: { how: 'unstarted', message: 'env A: found nothing' } },
    })
  })

  it('may not mount a path of the machine', async () => {
    const volumes = [{ name: 'host', hostPath: { path: '/' } }]
    const containers = [script('true', { volumeMounts: [{ name: 'host', mountPath: '/host' }] })]
    await until(await stage.started(stage.pod({ containers, volumes })), {
      run: {
        state: 'ended',
        exit: { how: 'unstarted', message: expect.stringContaining('hostPath "/" is not allowed') as string },
      },
    })
  })

  it('waits for a missing Secret', async () => {
    const env = [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }]
    const pod = stage.pod({ containers: [script('true', { env })] })
    const run = stage.runOf(pod)
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
    await stage.started(stage.pod({ containers: [{ name: 'main', command, env, envFrom }] }), {}, objects)
    await vi.waitFor(async () => expect(await stage.log()).toBe('a a/$(NONE)/$(A) 127.64.0.1 hidden y\n'), PATIENCE)
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
    const claim = join(stage.dir, 'claim')
    await mkdir(claim)
    await chmod(claim, 0o770)
    const text = 'echo kept >var/data/file; cat etc/info/deep/labels; sleep 1000'
    const pod = stage.pod({ containers: [script(text, { volumeMounts })], volumes })
    const run = await stage.started(pod)
    await vi.waitFor(async () => expect(await stage.log()).toBe('app="yes"'), PATIENCE)
    expect(await readFile(join(claim, 'sub/file'), 'utf8')).toBe('kept\n')
    expect((await stat(join(claim, 'sub'))).mode & 0o777).toBe(0o770)
    run.update(
      stage.pod({ containers: [script(text, { volumeMounts })], volumes, metadata: { labels: { app: 'no' } } }),
    )
    await run.look(Date.now())
    const { root } = stage.folder.container('main')
    expect(await readFile(join(root, 'etc/info/deep/labels'), 'utf8')).toBe('app="no"')
    expect(await readFile(join(root, 'etc/info/..data/deep/labels'), 'utf8')).toBe('app="no"')
  })
})

describe('the clean-up of a pod', () => {
  it('gets the end of each container, is repeated when it fails, and removes all files', async () => {
    const ends: (number | undefined)[] = []
    let failures = 1
    const cleanUp: OpenPods['cleanUp'] = async ({ exitCode, env }) => {
      if (failures-- > 0) throw new Error('not now')
      ends.push(exitCode)
      expect(env['PAWL_CONTAINER']).toBe(`${stage.uid}/main/0`)
      await Promise.resolve()
    }
    const run = await stage.started(stage.pod({ containers: [script('exit 4')] }), { cleanUp })
    const facts = await until(run, { run: { state: 'ended' } })
    await expect(run.sweep(facts)).rejects.toThrow('not now')
    expect(await stage.folder.read()).toBeDefined()
    await run.sweep(facts)
    expect(ends).toEqual([4])
    expect(await stage.folder.read()).toBeUndefined()
  })

  it('reports an invalid record', async () => {
    const pod = stage.pod()
    await stage.runOf(pod).accept(pod, 1)
    await writeFile(join(stage.folder.path, 'pod.json'), '{"version":1}')
    await expect(stage.folder.read()).rejects.toThrow('pod.json: found version 1; expected 2')
  })
})
