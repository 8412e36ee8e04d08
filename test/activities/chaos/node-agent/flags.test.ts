import { describe, expect, it } from 'vitest'

import { readFlags, USAGE } from '../../../../activities/chaos/node-agent/flags.ts'

describe('the flags of the node agent', () => {
  it('have defaults', () => {
    expect(readFlags(['--nodes', 'all'], {})).toEqual({
      nodes: undefined,
      namespace: 'chaos-engineering',
      kubeconfig: undefined,
      injector: undefined,
      state: '/run/pawl-node-agent',
      isFake: false,
      processesAnnotation: 'pawl.dev/processes',
      hostIP: '127.0.0.1',
      podIP: '127.0.0.1',
      atEnd: 'leave',
      mayDisturbNode: false,
      simulates: false,
    })
  })

  it('override the defaults', () => {
    const args = [
      ...['--nodes', 'a,b', '--namespace', 'n', '--injector', 'node  injector.js', '--state', '/s', '--play', 'ready'],
      ...['--processes-annotation', 'p', '--host-ip', '1.2.3.4', '--at-end', 'stop'],
      ...['--node-level', 'allow', '--no-process', 'simulate'],
    ]
    expect(readFlags(args, { KUBECONFIG: '/k' })).toEqual({
      nodes: new Set(['a', 'b']),
      namespace: 'n',
      kubeconfig: '/k',
      injector: ['node', 'injector.js'],
      state: '/s',
      isFake: true,
      processesAnnotation: 'p',
      hostIP: '1.2.3.4',
      podIP: '1.2.3.4',
      atEnd: 'stop',
      mayDisturbNode: true,
      simulates: true,
    })
  })

  it.each([
    [[], '--nodes: found nothing; expected names of nodes, or all'],
    [['--nodes', ','], "--nodes: found ','; expected names of nodes, or all"],
    [['--nodes', 'all', '--play', 'dead'], "--play: found 'dead'; expected ready"],
    [['--nodes', 'all', '--at-end', 'no'], "--at-end: found 'no'; expected leave or stop"],
    [['--nodes', 'all', '--injector', ' '], "--injector: found ' '; expected a program"],
    [['--nodes', 'all', '--pods', '1'], "Unknown option '--pods'"],
  ])('%j are refused', (args, message) => {
    expect(() => readFlags(args, {})).toThrow(message)
  })

  it('are all listed in the help', () => {
    const told = [...USAGE.matchAll(/^ {2}--([a-z-]+)/gm)].flatMap(([, name]) => name ?? [])
    const known = told.filter((name) => name !== 'nodes').flatMap((name) => [`--${name}`, VALUES[name] ?? 'x'])
    expect(() => readFlags(['--nodes', 'all', ...known], {})).not.toThrow()
    expect(told).toHaveLength(12)
  })
})

const VALUES: Readonly<Record<string, string>> = {
  play: 'ready',
  'at-end': 'stop',
  'node-level': 'allow',
  'no-process': 'fail',
}
