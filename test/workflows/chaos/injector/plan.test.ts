// The plans of all kinds except network disruptions. Source: spec/chaos.md 3.7 and 3.8.

import { describe, expect, it } from 'vitest'

import { commandText } from '../../../../workflows/chaos/injector/command.ts'
import {
  cpuPercentage,
  type DiskFacts,
  planContainerFailure,
  planCpuPressure,
  planDiskPressure,
  planDns,
  planMemoryPressure,
  planNodeFailure,
  planPodReplacement,
} from '../../../../workflows/chaos/injector/plan.ts'

describe('the plan of', () => {
  it.each([
    [true, 'SIGKILL'],
    [false, 'SIGTERM'],
  ])('a container failure, forced %s, is a signal that nothing undoes', (forced, signal) => {
    const main = { pid: 7, startTime: '100' }
    expect(planContainerFailure({ kind: 'container-failure', forced }, main)).toEqual({
      apply: [{ do: 'signal', signal, process: main }],
      undo: [],
    })
  })

  it.each([
    [true, 'o'],
    [false, 'c'],
  ])(
    'D15: a node failure with shutdown %s waits before it pulls the trigger, and is ready before',
    (shutdown, letter) => {
      const files = { enable: '/s', trigger: '/t' }
      const { apply, afterReady = [], undo } = planNodeFailure({ kind: 'node-failure', shutdown }, files, '176')
      expect(apply.map(commandText)).toEqual(["write '1' to /s"])
      expect(afterReady.map(commandText)).toEqual(['wait 31000 ms', `write '${letter}' to /t`])
      expect(undo.map(commandText)).toEqual(["write '176' to /s"])
      expect(planNodeFailure({ kind: 'node-failure', shutdown }, files, undefined).undo).toEqual([])
    },
  )

  it.each([
    [{ cpus: 2 }, 4, 50],
    [{ cpus: 3 }, 2, 100],
    [{ cpus: 1 }, 3, 33],
    [{ percent: 70 }, 8, 70],
  ])('CPU pressure of %j on %d CPUs keeps each busy for %d percent', (count, cpus, percentage) => {
    expect(cpuPercentage(count, cpus)).toBe(percentage)
    const { apply, undo } = planCpuPressure({ kind: 'cpu-pressure', count }, { joins: ['/cg/cgroup.procs'], cpus })
    expect(apply.map(commandText)).toEqual([
      `start cpu-pressure-stress: cpu-pressure-stress --percentage ${percentage}`,
    ])
    expect(undo.map(commandText)).toEqual(['end cpu-pressure-stress'])
  })

  it('memory pressure needs a memory limit', () => {
    const spec = { kind: 'memory-pressure', targetPercent: 76, rampMs: 600_000 } as const
    expect(planMemoryPressure(spec, { joins: [], limitBytes: undefined, usageFile: '/u' })).toEqual({
      unsupported: ['the target has no memory limit, so 76% of the limit is undefined; set resources.limits.memory'],
    })
    expect(planMemoryPressure(spec, { joins: [], limitBytes: 1000, usageFile: '/u' })).toMatchObject({
      apply: [
        {
          args: [
            ...['memory-pressure-stress', '--target-percent', '76', '--ramp-duration', '10m0s'],
            ...['--limit-bytes', '1000', '--usage-file', '/u'],
          ],
        },
      ],
    })
  })

  it('disk pressure sets limits and restores previous ones, in both cgroup versions', () => {
    const spec = { kind: 'disk-pressure', path: '/data', readBytesPerSec: 1024, writeBytesPerSec: 2048 } as const
    const first: DiskFacts = {
      device: '254:0',
      files: { version: 1, read: '/r', write: '/w' },
      before: { read: 4096, write: undefined },
    }
    const one = planDiskPressure(spec, first)
    expect(one.apply.map(commandText)).toEqual(["write '254:0 1024' to /r", "write '254:0 2048' to /w"])
    expect(one.undo.map(commandText)).toEqual(["write '254:0 4096' to /r", "write '254:0 0' to /w"])
    const two = planDiskPressure(spec, { ...first, files: { version: 2, max: '/io.max' } })
    expect(two.apply.map(commandText)).toEqual([
      "write '254:0 rbps=1024' to /io.max",
      "write '254:0 wbps=2048' to /io.max",
    ])
    expect(two.undo.map(commandText)).toEqual([
      "write '254:0 rbps=4096' to /io.max",
      "write '254:0 wbps=max' to /io.max",
    ])
  })

  it('a DNS disruption starts its responder before it redirects queries', () => {
    const records = [{ hostname: 'a.example', type: 'A', value: '1.2.3.4', ttl: 5 }] as const
    const spec = { kind: 'dns-disruption', records, port: 53, protocol: 'both' } as const
    const facts = { responderIp: '10.0.0.9', upstreams: ['10.0.0.10:53'] }
    const { apply, undo } = planDns(spec, { ...facts, containers: [{ version: 2, path: 'pod/c1' }] })
    const match = '-m cgroup --path pod/c1 -m comment --comment pawl-chaos -j CHAOS-DNS'
    expect(apply.map(commandText)).toEqual([
      'start dns-responder: dns-responder --records a.example:A:1.2.3.4:5 --udp-port 5353 --tcp-port 5354 --upstream 10.0.0.10:53',
      [
        ...['iptables-restore --noflush -w <<EOF', '*nat', ':CHAOS-DNS - [0:0]'],
        '-A CHAOS-DNS -s 10.0.0.9 -j RETURN',
        '-A CHAOS-DNS -p udp --dport 53 -j DNAT --to-destination 10.0.0.9:5353',
        '-A CHAOS-DNS -p tcp --dport 53 -j DNAT --to-destination 10.0.0.9:5354',
        ...[`-I OUTPUT 1 -p udp --dport 53 ${match}`, `-I OUTPUT 1 -p tcp --dport 53 ${match}`],
        ...['COMMIT', 'EOF'],
      ].join('\n'),
    ])
    expect(undo.map(commandText)).toEqual([
      `iptables -w -t nat -D OUTPUT -p udp --dport 53 ${match}`,
      `iptables -w -t nat -D OUTPUT -p tcp --dport 53 ${match}`,
      ...['iptables -w -t nat -F CHAOS-DNS', 'iptables -w -t nat -X CHAOS-DNS', 'end dns-responder'],
    ])
  })

  it('a DNS disruption without distinguishable containers also redirects queries from outside', () => {
    const spec = { kind: 'dns-disruption', records: [], port: 5300, protocol: 'tcp' } as const
    const { apply } = planDns(spec, { responderIp: '10.0.0.9', upstreams: [], containers: [] })
    const text = apply.map(commandText).join('\n')
    expect(text).toContain('-I PREROUTING 1 -p tcp --dport 5300 -m comment')
    expect(text).toContain('--to-destination 10.0.0.9:5353')
    expect(text).not.toContain('udp')
  })
})

describe('the plan of a pod replacement', () => {
  const facts = { node: 'n1', isCordoned: false, pod: { namespace: 'ns', name: 'p1', uid: 'u1' }, claims: ['data'] }
  const spec = { kind: 'pod-replacement', deleteStorage: true, forceDelete: false } as const
  const lines = (given: Parameters<typeof planPodReplacement>[0], found = facts) => {
    const { apply, undo } = planPodReplacement(given, found)
    return [apply, undo].map((commands) => commands.map(commandText))
  }
  const removed = '"apiVersion":"v1","kind":"DeleteOptions"'

  it('cordons the node, deletes claims and pod, and uncordons the node', () => {
    expect(lines(spec)).toEqual([
      [
        'PATCH /api/v1/nodes/n1 {"spec":{"unschedulable":true}}',
        `DELETE /api/v1/namespaces/ns/persistentvolumeclaims/data {${removed}}`,
        `DELETE /api/v1/namespaces/ns/pods/p1 {${removed},"preconditions":{"uid":"u1"}}`,
      ],
      ['PATCH /api/v1/nodes/n1 {"spec":{"unschedulable":null}}'],
    ])
  })

  it.each([
    [{ ...spec, deleteStorage: false, forceDelete: true, gracePeriodSeconds: 30 }, 0],
    [{ ...spec, deleteStorage: false, gracePeriodSeconds: 30 }, 30],
  ])('deletes in the time that is asked for, and leaves a node alone that was closed: %j', (given, seconds) => {
    expect(lines(given, { ...facts, isCordoned: true })).toEqual([
      [
        `DELETE /api/v1/namespaces/ns/pods/p1 {${removed},"preconditions":{"uid":"u1"},"gracePeriodSeconds":${seconds}}`,
      ],
      [],
    ])
  })
})
