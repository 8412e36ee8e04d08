// Pods as real processes whose containers have a file system, where the machine permits it.

import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'

import type { OpenPods } from '../../../activities/pods.ts'
import { namespaces, PATIENCE, READY, RUNNING, script, stateOf, until, usePodStage } from './pod-stage.ts'

const stage = usePodStage()
const userID = process.getuid?.()

describe.skipIf(namespaces === undefined)('a container with a file system', () => {
  const process: OpenPods['process'] = async ({ command, args }) => {
    const greet = join(stage.dir, 'greet')
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
    stage.pod({
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
      ls ${stage.folder.path}/pod.json; exit 3`)
    const run = await stage.started(pod, fileSystem)
    const first = await until(run, { run: { state: 'ended', exit: { how: 'exited', code: 3 } } })
    const labels = 'app="yes"'
    expect(await stage.log()).toBe(
      [
        'hello from /usr/bin/greet',
        '/',
        `${labels}${labels}`,
        'log',
        'machine',
        `${stage.folder.path}/pod.json`,
        '',
      ].join('\n'),
    )
    await expect(readFile(join(stage.dir, 'claim/kept'))).resolves.toHaveLength(0)
    // A restart finds the root folder with its content.
    await run.start('main', first.containers['main']!)
    await until(run, { run: { state: 'ended', exit: { how: 'exited', code: 3 } }, restarts: 1 })
    await run.sweep(first)
    expect(await readdir(stage.dir)).toEqual(expect.not.arrayContaining([stage.uid]))
    await expect(readFile(join(stage.dir, 'claim/kept'))).resolves.toHaveLength(0)
  })

  it('is probed in it, gets signals, and is killed with its children', async () => {
    const run = await stage.started(
      podOf(
        `setsid sleep 1000 & echo $! >/var/data/child; trap 'exit 7' TERM; touch /var/data/ready; while :; do sleep 0.02; done`,
      ),
      fileSystem,
    )
    await until(run, RUNNING)
    await run.terminate('deleted', 60_000, Date.now())
    await until(run, { run: { state: 'ended', exit: { how: 'exited', code: 7 } } })
    const child = (await readFile(join(stage.dir, 'claim/child'), 'utf8')).trim()
    await vi.waitFor(async () => expect(await stateOf(child)).toMatch(/^(?:gone|Z)$/), PATIENCE)
  })

  // Only root can change the user.
  it.skipIf(userID !== 0)('with an unpacked image runs as its user, and has the given /etc/hosts', async () => {
    const hosts = join(stage.dir, 'hosts')
    await writeFile(hosts, '127.0.0.1 localhost own\n')
    const unpackedImage = { folder: '/', uid: 65_532, gid: 65_533, hosts }
    const argv = ['/bin/sh', '-c', 'id -u; id -g; cat /etc/hosts']
    const ofImage: OpenPods['process'] = () => Promise.resolve({ argv, env: { PATH: '/usr/bin:/bin' }, unpackedImage })
    await until(await stage.started(podOf(''), { ...fileSystem, process: ofImage }), {
      run: { state: 'ended', exit: { how: 'exited', code: 0 } },
    })
    expect(await stage.log()).toBe('65532\n65533\n127.0.0.1 localhost own\n')
  })

  it('ends with code 127 if the program does not exist', async () => {
    const pod = stage.pod({ containers: [{ name: 'main', command: ['no-such-program'] }] })
    await until(await stage.started(pod, fileSystem), { run: { state: 'ended', exit: { how: 'exited', code: 127 } } })
  })
})
