import { describe, expect, it } from 'vitest'

import { chaosPods } from '../../../activities/chaos/pods.ts'
import { readAgentFlags, usage } from '../../../worker/node-agent/flags.ts'

describe('the flags of the node agent', () => {
  it('have defaults', () => {
    const { valuesOf, ...flags } = readAgentFlags(['--nodes', 'all'], {}, { chaos: chaosPods })
    expect(flags).toEqual({
      nodes: undefined,
      wings: ['chaos'],
      module: undefined,
      kubeconfig: undefined,
      state: '/run/pawl-node-agent',
      isPlayed: false,
      hostIP: '127.0.0.1',
      providesVolumes: false,
      restartDelayMs: 10_000,
      atEnd: 'leave',
    })
    expect(valuesOf(chaosPods)).toEqual({
      'chaos-namespace': 'chaos-engineering',
      injector: undefined,
      'node-level': 'refuse',
      'no-process': 'fail',
      'processes-annotation': 'pawl.dev/processes',
    })
  })

  it('override the defaults of the agent and of wings', () => {
    const args = [
      ...['--nodes', 'a,b', '--wings', 'chaos', '--state', '/s', '--play', 'ready', '--host-ip', '1.2.3.4'],
      ...['--at-end', 'stop', '--restart-delay', '1s', '--provide-volumes', 'yes', '--no-process', 'simulate'],
    ]
    const { valuesOf, ...flags } = readAgentFlags(args, { KUBECONFIG: '/k' })
    expect(flags).toMatchObject({
      nodes: new Set(['a', 'b']),
      wings: ['chaos'],
      kubeconfig: '/k',
      state: '/s',
      isPlayed: true,
      hostIP: '1.2.3.4',
      atEnd: 'stop',
      restartDelayMs: 1000,
      providesVolumes: true,
    })
    expect(valuesOf(chaosPods)['no-process']).toBe('simulate')
  })

  it.each([
    [[], '--nodes is missing; expected names of nodes, or all'],
    [['--nodes', ','], '--nodes: found ","; expected names of nodes, or all'],
    [['--nodes', 'all', '--play', 'dead'], '--play: found "dead"; expected one of ready, no'],
    [['--nodes', 'all', '--at-end', 'no'], '--at-end: found "no"; expected one of leave, stop'],
    [['--nodes', 'all', '--wings', 'none'], '--wings has "none"; expected wings of chaos'],
    [['--nodes', 'all', '--pod', '1'], "Unknown option '--pod'"],
  ])('%j are refused', (args, message) => {
    expect(() => readAgentFlags(args, {})).toThrow(message)
  })

  it('are all listed in the help', () => {
    const listed = [...usage(true).matchAll(/^ {2}--([a-z-]+) /gm)].flatMap(([, name]) => name ?? [])
    expect(listed).toEqual(expect.arrayContaining(['nodes', 'pods', 'restart-delay', ...Object.keys(chaosPods.flags)]))
    expect(
      Math.max(
        ...usage(true)
          .split('\n')
          .map((line) => line.length),
      ),
    ).toBeLessThanOrEqual(80)
  })
})
