import { describe, expect, it } from 'vitest'

import {
  argumentsOutside,
  isOfNode,
  pathOutside,
  probedFile,
  readProcesses,
} from '../../../../workflows/chaos/pods/container.ts'

const MOUNTS = [
  { path: '/mnt/host/', hostPath: '/' },
  { path: '/mnt/cgroup', hostPath: '/sys/fs/cgroup' },
  { path: '/mnt/host/deep', hostPath: '/elsewhere/' },
]

describe('a path in the container', () => {
  it.each([
    ['/mnt/host/etc/resolv.conf', '/etc/resolv.conf'],
    ['/mnt/host/', '/'],
    ['/mnt/host', '/'],
    ['/mnt/cgroup/', '/sys/fs/cgroup/'],
    ['/mnt/cgroup', '/sys/fs/cgroup'],
    ['/mnt/host/deep/file', '/elsewhere/file'],
    ['/mnt/hosts', '/mnt/hosts'],
    ['/etc/resolv.conf', '/etc/resolv.conf'],
    ['info', 'info'],
  ])('%s is %s of the machine', (path, outside) => {
    expect(pathOutside(path, MOUNTS)).toBe(outside)
  })
})

describe('the arguments of a chaos pod', () => {
  it('contain paths of the machine', () => {
    const args = ['--dns-node-resolv-conf', '/mnt/host/etc/resolv.conf', '--dns-pod-resolv-conf', '/etc/resolv.conf']
    expect(argumentsOutside([...args, '--path=/mnt/host/a=b', '--drop=30'], MOUNTS)).toEqual([
      ...['--dns-node-resolv-conf', '/etc/resolv.conf', '--dns-pod-resolv-conf', '/etc/resolv.conf'],
      ...['--path=/a=b', '--drop=30'],
    ])
  })

  it.each([
    [true, ['cpu-pressure', '--level', 'node']],
    [true, ['cpu-pressure', '--level=node']],
    [false, ['cpu-pressure', '--level', 'pod', '--log-context-target-name', 'node']],
    [false, ['node']],
  ])('ask for the node itself: %s of %j', (expected, args) => {
    expect(isOfNode(args)).toBe(expected)
  })
})

describe('the annotation with processes', () => {
  it('maps container names to PIDs', () => {
    expect(readProcesses('{"app": 1234}')).toEqual({ app: 1234 })
  })

  it.each(['', '[', '[]', '[12]', '7', 'null', '{"app": "1234"}', '{"app": 1}', '{"app": -5}', '{"app": 1.5}'])(
    'rejects %j',
    (annotation) => {
      expect(() => readProcesses(annotation)).toThrow(`found ${annotation}; expected numbers of processes`)
    },
  )
})

describe('the readiness probe of a chaos pod', () => {
  it('checks a file', () => {
    expect(probedFile(['test', '-f', '/tmp/readiness_probe'])).toBe('/tmp/readiness_probe')
  })

  it.each([[[]], [['cat', '/tmp/a']], [['test', '-f']], [['test', '-f', 'a', 'b']], [['test', '-s', 'a']]])(
    'rejects %j',
    (command) => {
      expect(() => probedFile(command)).toThrow('expected ["test","-f",FILE]')
    },
  )
})
