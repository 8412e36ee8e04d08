// The commands of the wing, as `pawl fdb VERB`. Source: spec/foundationdb.md 5.

import type { CommandOption, WingCommands } from '../command.ts'

const CLUSTER: CommandOption = {
  flags: '-c, --fdb-cluster <name>',
  text: 'the FoundationDBCluster (default: the only one of the namespace)',
  namesOf: 'fdb',
}
const FDB_BIN: CommandOption = {
  flags: '--fdb-bin <dir>',
  text: "folder with FoundationDB's tools (default: $PAWL_FDB_BIN, then $PATH)",
}
const ONE_CLUSTER = {
  usage: '[cluster]',
  text: 'the FoundationDBCluster (default: the only one of the namespace)',
  namesOf: 'fdb',
} as const

/** Options of the commands that change a list of process groups. */
const LIST_OPTIONS: readonly CommandOption[] = [
  CLUSTER,
  { flags: '--clear', text: 'remove these process groups from the list', conflicts: ['clean'] },
  { flags: '--clean', text: 'remove all process groups from the list' },
]

export const foundationdbCommands: readonly WingCommands[] = [
  {
    name: 'fdb',
    summary: 'find problems of FoundationDBClusters, replace and restart their processes',
    groups: {
      remove: 'remove parts of a FoundationDBCluster',
      'connection-string': 'show or replace the connection string of a database',
      buggify: 'cause failures of a FoundationDBCluster on purpose, for tests',
    },
    commands: [
      {
        name: 'analyze',
        asks: true,
        description:
          'find problems of FoundationDBClusters, their process groups and Pods; exit code 3 if there are any; warnings do not count',
        argument: ONE_CLUSTER,
        options: [
          { flags: '--all-clusters', text: 'all clusters of the namespace' },
          {
            flags: '--ignore-condition <type>',
            text: 'leave out this condition of process groups, such as IncorrectCommandLine; may be given several times',
            isList: true,
          },
          { flags: '--ignore-removals', text: 'leave out process groups that are being removed' },
          {
            flags: '--auto-fix',
            text: 'replace process groups that have failed for 5 minutes, and delete Pods whose containers ended 30 minutes ago',
          },
        ],
        examples: ['pawl fdb analyze sample', 'pawl fdb analyze --all-clusters', 'pawl fdb analyze sample --auto-fix'],
        load: async () => await import('./command/analyze.ts'),
      },
      {
        name: 'remove process-groups',
        asks: true,
        description: 'remove process groups after their data has moved away; the controller creates new ones',
        argument: { usage: '[id...]', text: 'IDs of process groups, or names of their Pods' },
        options: [
          CLUSTER,
          { flags: '--remove-all-failed', text: 'all process groups that have failed for 5 minutes' },
          {
            flags: '--without-exclusion',
            text: 'do not move data away first; data whose other copies are lost is lost, too',
          },
          { flags: '-e, --exclusion <true-or-false>', text: 'as in kubectl-fdb: false is --without-exclusion' },
        ],
        examples: [
          'pawl fdb remove process-groups storage-1 -c sample',
          'pawl fdb remove process-groups -c sample --remove-all-failed',
        ],
        load: async () => await import('./command/remove-process-groups.ts'),
      },
      {
        name: 'cordon',
        asks: true,
        description: 'remove all process groups that run on Nodes after their data has moved away',
        argument: { usage: '[node...]', text: 'names of Nodes' },
        options: [
          { ...CLUSTER, text: 'only this FoundationDBCluster (default: all of the namespace)' },
          { flags: '--node-selector <labels>', text: 'the Nodes with these labels, such as pool=old' },
        ],
        examples: ['pawl fdb cordon node-1 node-2', 'pawl fdb cordon --node-selector pool=old -c sample'],
        load: async () => await import('./command/cordon.ts'),
      },
      {
        name: 'restart',
        asks: true,
        description:
          'restart processes by a command to their database; needs fdbcli and access to the addresses of Pods',
        argument: { usage: '[id...]', text: 'IDs of process groups, or names of their Pods' },
        options: [CLUSTER, { flags: '--all-processes', text: 'all processes of the cluster' }, FDB_BIN],
        examples: ['pawl fdb restart storage-1 -c sample', 'pawl fdb restart -c sample --all-processes --yes'],
        load: async () => await import('./command/restart.ts'),
      },
      {
        name: 'exclusion-status',
        description:
          'show how much data excluded processes still store; needs fdbcli and access to the addresses of Pods',
        argument: ONE_CLUSTER,
        options: [
          {
            flags: '--interval <duration>',
            text: 'repeat until all exclusions are complete, with an estimate of the rest',
          },
          FDB_BIN,
        ],
        examples: ['pawl fdb exclusion-status sample', 'pawl fdb exclusion-status sample --interval 30s'],
        load: async () => await import('./command/exclusion-status.ts'),
      },
      {
        name: 'connection-string show',
        description: 'print the connection string',
        argument: ONE_CLUSTER,
        options: [],
        examples: ['pawl fdb connection-string show sample >fdb.cluster'],
        load: async () => await import('./command/show-connection-string.ts'),
      },
      {
        name: 'connection-string update',
        asks: true,
        description:
          'replace the connection string in the status, after coordinators were changed while the controller could not reach the database',
        argument: { usage: '<connection-string>', text: 'such as sample:id@10.0.0.1:4501,10.0.0.2:4501' },
        options: [CLUSTER],
        examples: ['pawl fdb connection-string update sample:abc@10.0.0.1:4501 -c sample'],
        load: async () => await import('./command/update-connection-string.ts'),
      },
      {
        name: 'fix-coordinator-ips',
        asks: true,
        description:
          'replace the addresses of Pods in the connection string after most coordinators have got other addresses; prints the commands that bring the file to the processes',
        argument: ONE_CLUSTER,
        options: [{ flags: '--dry-run', text: 'only print the new connection string' }],
        examples: ['pawl fdb fix-coordinator-ips sample --dry-run', 'pawl fdb fix-coordinator-ips sample'],
        load: async () => await import('./command/fix-coordinator-ips.ts'),
      },
      {
        name: 'buggify crash-loop',
        asks: true,
        description: 'let a container of process groups crash',
        argument: { usage: '[id...]', text: 'IDs of process groups, or names of their Pods' },
        options: [...LIST_OPTIONS, { flags: '--container-name <name>', text: 'the container (default: foundationdb)' }],
        examples: [
          'pawl fdb buggify crash-loop storage-1 -c sample',
          'pawl fdb buggify crash-loop -c sample --clean --container-name foundationdb-kubernetes-sidecar',
        ],
        load: async () => ({ run: (await import('./command/buggify.ts')).crashLoop }),
      },
      {
        name: 'buggify no-schedule',
        asks: true,
        description: 'recreate the Pods of process groups so that no Node accepts them',
        argument: { usage: '[id...]', text: 'IDs of process groups, or names of their Pods' },
        options: LIST_OPTIONS,
        examples: [
          'pawl fdb buggify no-schedule storage-1 -c sample',
          'pawl fdb buggify no-schedule storage-1 -c sample --clear',
        ],
        load: async () => ({ run: (await import('./command/buggify.ts')).noSchedule }),
      },
      {
        name: 'buggify empty-monitor-conf',
        asks: true,
        description: 'configure the Pods of a cluster without processes',
        options: [
          CLUSTER,
          { flags: '--set-value <true-or-false>', text: 'false starts the processes (default: true)' },
        ],
        examples: [
          'pawl fdb buggify empty-monitor-conf -c sample',
          'pawl fdb buggify empty-monitor-conf -c sample --set-value false',
        ],
        load: async () => ({ run: (await import('./command/buggify.ts')).emptyMonitorConf }),
      },
    ],
  },
]
