// The command line of the node agent: the agent's flags, and the flags of the wings that declare pods.

import { PODS } from '../../activities/pods.gen.ts'
import type { WingPods } from '../../activities/pods.ts'
import type { FlagTable } from '../../workflows/kit/index.ts'
import { flagHelp, type FlagValues, givenFlags, joinFlagTables, readFlags, requireFlag } from '../server/flags.ts'
import { UsageError } from '../server/usage-error.ts'
import type { AgentSettings } from './agent.ts'

const AGENT_FLAGS = {
  nodes: {
    reads: 'text',
    takes: '<names-or-all>',
    text: 'nodes whose pods it runs, separated by commas (required)',
  },
  wings: {
    reads: 'list',
    takes: '<names>',
    accepts: (name: string) => Object.hasOwn(PODS, name),
    expected: `wings of ${Object.keys(PODS).join(', ')}`,
    default: 'all',
    text: 'wings whose pods it runs',
  },
  pods: {
    reads: 'text',
    takes: '<module>',
    text: 'a module that exports the declaration of further pods, for tests',
  },
  kubeconfig: {
    reads: 'text',
    takes: '<file>',
    default: '$KUBECONFIG, in a pod its account',
    text: 'of the API server',
  },
  state: {
    reads: 'text',
    takes: '<folder>',
    otherwise: '/run/pawl-node-agent',
    text: 'folder of its state; one for each machine',
  },
  play: {
    reads: 'choice',
    takes: '<ready-or-no>',
    of: ['ready', 'no'],
    otherwise: 'no',
    text: 'ready: starts nothing; pods are ready at once, and end well',
  },
  'host-ip': {
    reads: 'text',
    takes: '<address>',
    otherwise: '127.0.0.1',
    text: 'status.hostIP of the pods',
  },
  'provide-volumes': {
    reads: 'yes-or-no',
    takes: '<yes-or-no>',
    otherwise: 'no',
    text: 'whether PersistentVolumeClaims get folders of this machine, by the default StorageClass pawl-folder',
  },
  'restart-delay': {
    reads: 'duration',
    takes: '<duration>',
    otherwise: '10s',
    text: 'the delay of the second restart of a container that crashes; it doubles with each restart',
  },
  'at-end': {
    reads: 'choice',
    takes: '<leave-or-stop>',
    of: ['leave', 'stop'],
    otherwise: 'leave',
    text: 'whether processes continue when the agent ends; the next agent adopts them',
  },
} as const satisfies FlagTable

export interface AgentFlags extends AgentSettings {
  readonly kubeconfig: string | undefined
  /** The names of the wings. */
  readonly wings: readonly string[]
  /** The path of a module with a further declaration. */
  readonly module: string | undefined
  /** The values of a wing's flags. */
  readonly valuesOf: (pods: WingPods) => FlagValues<FlagTable>
}

/** @throws with the flag, the actual and the expected value. */
export function readAgentFlags(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  declared: Readonly<Record<string, WingPods>> = PODS,
): AgentFlags {
  const tables = Object.values(declared).map(({ flags }) => flags)
  const given = givenFlags(joinFlagTables(AGENT_FLAGS, ...tables), args)
  const values = readFlags(AGENT_FLAGS, given)
  const variable = env['KUBECONFIG'] === '' ? undefined : env['KUBECONFIG']
  return {
    nodes: nodesIn(requireFlag('nodes', values.nodes, 'names of nodes, or all')),
    wings: values.wings.length === 0 ? Object.keys(declared) : values.wings,
    module: values.pods,
    kubeconfig: values.kubeconfig ?? variable,
    state: values.state,
    isPlayed: values.play === 'ready',
    hostIP: values['host-ip'],
    providesVolumes: values['provide-volumes'],
    restartDelayMs: values['restart-delay'] ?? 0,
    atEnd: values['at-end'] === 'stop' ? 'stop' : 'leave',
    valuesOf: ({ flags }) => readFlags(flags, given),
  }
}

function nodesIn(text: string): ReadonlySet<string> | undefined {
  if (text === 'all') return undefined
  const names = text.split(',').filter((name) => name !== '')
  if (names.length === 0) throw new UsageError(`--nodes: found "${text}"; expected names of nodes, or all`)
  return new Set(names)
}

const WIDTH = 80
const COLUMN = 34

/** The text of `--help`, which fits on a screen, or of `--help-all`, which also has the flags of the wings. */
export function usage(isComplete: boolean): string {
  const tables = isComplete ? Object.values(PODS).map(({ flags }) => flags) : []
  const further = row('--help-all', 'display help with the flags of the wings')
  return `Usage: pawl node-agent --nodes <names-or-all> [options]

Runs pods of the wings as processes on a machine without kubelet, and reports
their state. For development and tests.

Options:
${Object.entries(joinFlagTables(AGENT_FLAGS, ...tables))
  .flatMap(([name, flag]) => row(`--${name} ${flag.takes}`, flagHelp(flag)))
  .concat(isComplete ? [] : further)
  .join('\n')}

Examples:
  pawl node-agent --nodes all --at-end stop
  pawl node-agent --nodes node-1 --play ready
`
}

function row(flags: string, text: string): readonly string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last === undefined || last.length + word.length >= WIDTH - COLUMN) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  const first = `  ${flags}`
  const isLong = first.length > COLUMN - 2
  const padded = lines.map((line) => `${' '.repeat(COLUMN)}${line}`)
  return isLong ? [first, ...padded] : [`${first.padEnd(COLUMN)}${lines[0] ?? ''}`, ...padded.slice(1)]
}
