// The help text of `pawl injector`.

import { INJECTOR_KINDS } from '../../../workflows/chaos/contract.ts'

const KINDS = INJECTOR_KINDS.map(({ name }) => name)

/** The flags with their descriptions. */
const OPTIONS: readonly (readonly [string, string])[] = [
  ['--level <pod-or-node>', 'the kind of the target'],
  [
    '--target-containers <name;id,...>',
    'containers of the pod; ids as containerd://ID, docker://ID, cri-o://ID, process://PID',
  ],
  ['--target-pod-ip <address>', 'address of the pod'],
  ['--dry-run', 'log the commands without running them, and become ready'],
  ['--on-init', "inject before the pod's containers start, then start them"],
  ['--not-injected-before <time>', 'wait until this time, such as 2026-01-31T12:00:00Z'],
  ['--deadline <time>', 'end then'],
  ['--pulse-initial-delay <duration>', 'wait so long'],
  ['--pulse-active-duration <duration>', 'how long each pulse lasts'],
  ['--pulse-dormant-duration <duration>', 'how long the pause between pulses lasts'],
  ['--chaos-namespace <name>', 'namespace of the pod of this injector (default: chaos-engineering)'],
  ['--metrics-sink <sink>', 'noop (the default), or datadog: sends to STATSD_URL, else to the agent of the node'],
  ['--log-context-disruption-name <name>', 'name of the Disruption, a field of every log line'],
  ['--log-context-disruption-namespace <name>', 'namespace of the Disruption and of the target'],
  ['--log-context-disruption-uid <uid>', 'UID of the Disruption; selects the percentage of addresses'],
  ['--log-context-target-name <name>', 'name of the watched target'],
  ['--log-context-target-node-name <name>', 'as above'],
  [
    '--hosts <host;port;protocol;flow;connState;dnsResolver;percentage>',
    'network: disrupted hosts; repeatable, trailing parts are optional',
  ],
  [
    '--allowed-hosts <host;port;protocol;flow;connState;dnsResolver;percentage>',
    'network: hosts that are not disrupted; repeatable',
  ],
  ['--services <name;namespace;port-portname;...;percentage>', 'network: services that are disrupted; repeatable'],
  ['--drop <percent>', 'network: packets that are lost'],
  ['--duplicate <percent>', 'network: packets that are duplicated; needs netem'],
  ['--corrupt <percent>', 'network: packets that are corrupted; needs netem'],
  ['--delay <ms>', 'network: delay of packets; needs netem'],
  ['--delay-jitter <percent>', 'network: variation of the delay'],
  ['--bandwidth-limit <bytes>', 'network: maximum bytes per second'],
  ['--method <method>', 'network: rejected, because it needs an eBPF classifier; repeatable'],
  ['--host-resolve-interval <duration>', 'network: interval of DNS lookups of hosts (default: 1m)'],
  ['--dns-pod-resolv-conf <path>', 'network: resolv.conf of the pod (default: /etc/resolv.conf)'],
  ['--dns-node-resolv-conf <path>', 'network: resolv.conf of the node (default: /mnt/host/etc/resolv.conf)'],
  ['--shutdown', 'node-failure: power off instead of a crash'],
  ['--forced', 'container-failure: SIGKILL; without it SIGTERM'],
  [
    '--count <cpus-or-percent>',
    'cpu-pressure: a number of CPUs such as 2, or a percentage such as 50% (default: 100%)',
  ],
  ['--target-percent <percent>', 'memory-pressure: percentage of the memory limit to reach'],
  ['--ramp-duration <duration>', 'memory-pressure: how long it takes to fill the memory'],
  ['--path <path>', 'disk-pressure and disk-failure: a path on the disk'],
  ['--read-bytes-per-sec <bytes>', 'disk-pressure'],
  ['--write-bytes-per-sec <bytes>', 'disk-pressure'],
  ['--exit-code <errno>', 'disk-failure: rejected, because it needs an eBPF program'],
  ['--probability <percent>', 'disk-failure'],
  ['--port <port>', 'grpc-disruption: port of the application; dns-disruption: port of DNS servers (default: 53)'],
  ['--endpoint-alterations <endpoint;sort;value;percent>', 'grpc-disruption: sort is error or override; repeatable'],
  ['--records <host:TYPE:value:ttl;...>', 'dns-disruption: the answers'],
  ['--protocol <protocol>', 'dns-disruption: udp, tcp or both (default: both)'],
  ['--delete-storage', 'pod-replacement: delete its PersistentVolumeClaims as well'],
  ['--force-delete', 'pod-replacement: at once'],
  ['--grace-period-seconds <seconds>', "pod-replacement: in place of the pod's own"],
  ['--state <dir>', 'sweep: folder of the records of injectors'],
  ['--network-of <pid>', 'sweep: check the network namespace of this process only'],
  ['--timeout <duration>', 'chaos-handler: how long to wait (default: 1m0s)'],
  ['--succeed-on-timeout', 'chaos-handler: exit code 0 instead of 1 after the timeout'],
]

const WIDTH = 38
/** The flags in the short help; `--help-all` shows those of all kinds. */
const COMMON = new Set([
  '--level',
  '--target-containers',
  '--dry-run',
  '--not-injected-before',
  '--deadline',
  '--state',
])

const HEAD = `Usage: pawl injector KIND [flags]
       pawl injector sweep [--state DIR] [--network-of PID]
       pawl injector capabilities
       pawl injector chaos-handler [--timeout DURATION] [--succeed-on-timeout]

Injects a disruption, waits for SIGINT, SIGTERM or its deadline, and cleans up.
KIND is one of ${KINDS.slice(0, 5).join(', ')},
${KINDS.slice(5).join(', ')}.

sweep         undo what killed injectors have left, by their notes and by Pawl's marks
capabilities  try what this kernel cannot do
chaos-handler wait in an init container until an injector says that the pod is disturbed (SIGUSR1)
`

const FOOT = `
Examples:
  pawl injector capabilities
  pawl injector cpu-pressure --level pod --target-containers 'app;process://4711' --count 50%
  pawl injector network-disruption --level pod --target-containers 'app;process://4711' --drop 30

Variables, and what each kind does: docs/reference/injector.md
`

function optionsText(options: typeof OPTIONS): string {
  return `\nOptions:\n${options.map(([flag, text]) => `  ${flag.padEnd(WIDTH)}  ${text}`).join('\n')}\n`
}

/** Fits on a screen. */
export const USAGE = [
  HEAD,
  optionsText([
    ...OPTIONS.filter(([flag]) => COMMON.has(flag.split(' ')[0] ?? '')),
    ['--help-all', 'every flag of every kind'],
  ]),
  FOOT,
].join('')

export const FULL_USAGE = [HEAD, optionsText(OPTIONS), FOOT].join('')
