// The clusters of the recordings: processes, events that are no commands, and files. Source: the README of each folder.

import type { ProcessClass } from '../../../../activities/foundationdb/simulator/core/process-class.ts'
import type { InProcessCluster, ProcessPlan } from './in-process-cluster.ts'

export interface RecordedCluster {
  readonly folder: string
  readonly processes: readonly ProcessPlan[]
  /** How many of the first processes are coordinators, or which ones; default 1. */
  readonly coordinators?: number | readonly number[]
  /** Commands before the first recorded one, followed by a minute. */
  readonly before?: readonly string[]
  /** What happens at a time of the folder. */
  readonly events?: readonly (readonly [at: number, event: (cluster: InProcessCluster) => unknown])[]
  /** A killed process starts again after 0.3 s. */
  readonly watched?: boolean
  readonly files?: Readonly<Record<string, string>>
}

/** Processes `127.0.0.N:4501` in the zones `node-N`, by class in order of N. */
function processes(classes: string, locality: (n: number) => Record<string, string> = () => ({})): ProcessPlan[] {
  return classes.split(' ').map((processClass, index) => plan(index + 1, processClass, locality(index + 1)))
}

function plan(n: number, processClass: string, locality: Record<string, string> = {}): ProcessPlan {
  return {
    address: `127.0.0.${String(n)}:4501`,
    processClass: processClass as ProcessClass,
    locality: {
      instance_id: `${processClass}-${String(n)}`,
      machineid: `node-${String(n)}`,
      zoneid: `node-${String(n)}`,
      ...locality,
    },
  }
}

const stop =
  (...numbers: number[]) =>
  (cluster: InProcessCluster) => {
    for (const n of numbers) cluster.stop(`127.0.0.${String(n)}:4501`)
  }
const start =
  (...plans: ProcessPlan[]) =>
  (cluster: InProcessCluster) => {
    for (const each of plans) cluster.start(each)
  }

/** About 50 MB of user data, as the recorder wrote it. */
async function write50MB({ database }: InProcessCluster): Promise<void> {
  for (let index = 0; index < 555; index++) {
    const key = `key${String(index).padStart(6, '0')}`
    await database.transactions.commit({ reads: [], mutations: [{ type: 'set', key, value: 'x'.repeat(90_000) }] })
  }
}

const FIVE = processes('storage storage storage log stateless')
const FIVE_CONFIGURED = [
  'configure new double memory logs=2 commit_proxies=1 grv_proxies=1 resolvers=1 usable_regions=1',
]
const ELEVEN = processes('storage storage log stateless')
const THIRTEEN = processes('storage storage storage storage storage log log log stateless')
const SIX = processes('storage storage storage storage log log')
const EIGHT = processes('storage storage storage storage log log stateless')
const plansOf = (all: readonly ProcessPlan[], ...numbers: number[]) => numbers.flatMap((n) => all[n - 1] ?? [])

const NINE_CLASSES = processes('storage storage storage log transaction stateless unset cluster_controller coordinator')
const TEN_CLASSES = [
  ...['test', 'commit_proxy', 'master', 'resolution', 'router', 'data_distributor', 'ratekeeper', 'grv_proxy'],
  ...['commit_proxy', 'backup'],
].map((name, index) => plan(index + 10, name))

const tlsPlan = (n: number): ProcessPlan => ({ ...plan(n, 'unset'), address: `127.0.0.${String(n)}:4500:tls` })
const TLS = [1, 2, 3].map(tlsPlan)

const DC = (n: number): Record<string, string> => ({ dcid: n <= 5 ? 'dc1' : 'dc2' })
const CONFIGURATION = {
  backup_worker_enabled: 0,
  blob_granules_enabled: 0,
  commit_proxies: 2,
  grv_proxies: 1,
  log_spill: 2,
  redundancy_mode: 'single',
  storage_engine: 'ssd-2',
  usable_regions: 1,
}

export const RECORDED_CLUSTERS: readonly RecordedCluster[] = [
  { folder: '00-versions-and-help', processes: [] },
  { folder: '01-nothing-listens', processes: [] },
  {
    folder: '02-cluster-file-errors',
    processes: [],
    files: {
      '$DIR/c01': 'DIRECTORY',
      '$DIR/c01/empty': '',
      '$DIR/c01/only-newline': '\n',
      '$DIR/c01/no-at': 'test:abc',
      '$DIR/c01/no-id': 'test@127.0.0.1:4501',
      '$DIR/c01/empty-id': 'test:@127.0.0.1:4501',
      '$DIR/c01/no-coordinators': 'test:abc@',
      '$DIR/c01/bad-port': 'test:abc@127.0.0.1:99999',
      '$DIR/c01/no-port': 'test:abc@127.0.0.1',
      '$DIR/c01/bad-description': 'te-st:abc@127.0.0.1:4501',
      '$DIR/c01/bad-id': 'test:a-bc@127.0.0.1:4501',
      '$DIR/c01/mixed-tls': 'test:abc@127.0.0.1:4501,127.0.0.2:4501:tls',
      '$DIR/c01/duplicate': 'test:abc@127.0.0.1:4501,127.0.0.1:4501',
      '$DIR/c01/comment': '# a comment\ntest:abc@127.0.0.1:4501\n',
      '$DIR/c01/hostname': 'test:abc@no-such-host.invalid:4501',
      '$DIR/c01/tls-without-certs': 'test:abc@127.0.0.1:4501:tls',
      '$DIR/c01/ipv6': 'test:abc@[::1]:4501',
      '$DIR/c01/spaces': '  test:abc@127.0.0.1:4501  ',
      '$DIR/c01/two-lines': 'test:abc@127.0.0.1:4501\ntest:abc@127.0.0.2:4501\n',
    },
  },
  { folder: '03-not-configured', processes: processes('storage') },
  { folder: '03b-configure-new-with-broken-regions', processes: processes('storage') },
  {
    folder: '04-configure-new-double-with-one-process',
    processes: processes('storage'),
    events: [[80.9, start(plan(2, 'storage'))]],
  },
  { folder: '05-commands-on-a-healthy-double-cluster', processes: FIVE, watched: true },
  { folder: '06-kill', processes: FIVE, watched: true, before: FIVE_CONFIGURED },
  {
    folder: '07-setclass-maintenance-lock',
    processes: FIVE,
    watched: true,
    before: FIVE_CONFIGURED,
    events: [
      [
        17.4,
        ({ database }) => {
          database.state.lockUid = undefined
        },
      ],
    ],
  },
  {
    folder: '08-exclude-include',
    processes: EIGHT,
    events: [
      [60.8, write50MB],
      [
        233,
        ({ database }) => {
          database.state.exclusions.add('127.0.0.4')
        },
      ],
      [268.37, stop(4)],
    ],
  },
  {
    folder: '09-coordinators',
    processes: FIVE,
    files: {
      '$DIR/c09/wrong.cluster': 'other:zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz@127.0.0.3:4501,127.0.0.4:4501,127.0.0.5:4501',
    },
    events: [
      [
        116.6,
        ({ connectionText, files }) => {
          files.set('$DIR/c09/sub.cluster', connectionText.replace(/@.*/, '@127.0.0.3:4501'))
        },
      ],
    ],
  },
  {
    folder: '10-configure',
    processes: SIX,
    coordinators: 3,
    files: {},
  },
  {
    folder: '10b-configure-three-data-hall-without-data-halls',
    processes: SIX,
    coordinators: 3,
    watched: true,
    before: [
      'configure new double ssd-2 logs=3 resolvers=-1 log_routers=-1 remote_logs=-1 commit_proxies=2 grv_proxies=1 log_version:=6',
    ],
  },
  {
    folder: '11-database-unavailable-log-dead',
    processes: ELEVEN,
    events: [
      [47.58, stop(3)],
      [134.51, start(...plansOf(ELEVEN, 1))],
      [174.75, start(...plansOf(ELEVEN, 3))],
    ],
  },
  {
    folder: '12-single-storage-dead',
    processes: ELEVEN,
    before: ['configure new single memory logs=1 commit_proxies=1 grv_proxies=1 resolvers=1'],
    events: [
      [0, stop(2)],
      [49.4, start(...plansOf(ELEVEN, 2))],
    ],
  },
  {
    folder: '13-coordinators-dead',
    processes: THIRTEEN,
    coordinators: 5,
    events: [
      [47.75, stop(5)],
      [72.38, stop(3, 4)],
      [110.1, stop(2)],
      [122.39, stop(1)],
      [143.72, start(...plansOf(THIRTEEN, 1, 2, 3))],
      [156.35, start(...plansOf(THIRTEEN, 4, 5))],
    ],
  },
  {
    folder: '14-process-down-double',
    processes: SIX,
    coordinators: 3,
    events: [
      [66, write50MB],
      [80.27, stop(4)],
      [128.5, start(...plansOf(SIX, 4))],
      [165.42, stop(6)],
      [181, start(...plansOf(SIX, 6))],
      [240.81, stop(3, 4)],
      [290.42, start(...plansOf(SIX, 3, 4))],
    ],
  },
  { folder: '10x-configure-first-run', processes: SIX, coordinators: 3 },
  {
    folder: '15-process-classes',
    processes: NINE_CLASSES,
    coordinators: 3,
    events: [[71, start(...TEN_CLASSES)]],
  },
  { folder: '16a-only-stateless-and-log', processes: processes('stateless log log') },
  { folder: '16b-all-unset-double', processes: processes('unset unset unset') },
  { folder: '16c-single-ssd', processes: processes('unset') },
  { folder: '16d-single-memory-one-process', processes: processes('unset') },
  {
    folder: '17-double-one-zone',
    processes: processes('unset unset unset unset', () => ({ zoneid: 'z1' })),
    events: [[53.2, start(plan(5, 'unset', { zoneid: 'z2' }))]],
  },
  {
    folder: '18-three-data-hall',
    processes: processes('unset unset unset unset unset unset unset unset unset', (n) => ({
      data_hall: `h${String(Math.ceil(n / 3))}`,
    })),
    coordinators: 3,
  },
  {
    folder: '19-regions',
    processes: processes('storage storage log log stateless storage log log stateless', DC),
    coordinators: 3,
  },
  { folder: '23-all-commands-on-a-database-that-is-not-configured', processes: FIVE },
  { folder: '24a-configure-new-single-memory-operator-string', processes: processes('storage log stateless') },
  {
    folder: '24b-configure-new-double-ssd-operator-string',
    processes: processes('storage storage storage log log log log stateless stateless'),
  },
  {
    folder: '25-cluster-file-cannot-be-written',
    processes: processes('unset unset unset').map((each, index) => ({ ...each, readOnlyFile: index === 1 })),
    events: [[58.55, stop(1)]],
  },
  {
    folder: '26-exclude-stateless-with-a-spare',
    processes: processes('storage storage storage log log log stateless stateless'),
    watched: true,
  },
  {
    folder: '28-storage-lost-with-data-movement',
    processes: EIGHT,
    coordinators: 3,
    events: [
      [47.5, write50MB],
      [62.36, stop(4)],
      [94.23, start(...plansOf(EIGHT, 4))],
      [118.89, stop(3, 4)],
      [173.43, start(...plansOf(EIGHT, 3))],
      [187.87, start(...plansOf(EIGHT, 4))],
      [196.22, stop(4)],
      [222, start(...plansOf(EIGHT, 4))],
    ],
  },
  {
    folder: '29-storage-with-data-lost',
    processes: EIGHT,
    coordinators: [5],
    events: [
      [47.5, write50MB],
      [60.34, stop(3)],
      [163.97, start(...plansOf(EIGHT, 3))],
    ],
  },
  {
    folder: '30-two-storages-with-data-lost',
    processes: EIGHT,
    coordinators: [5],
    events: [
      [47.6, write50MB],
      [59.35, stop(1, 4)],
      [148.33, start(...plansOf(EIGHT, 1, 4))],
    ],
  },
  {
    folder: '31-kill-with-and-without-sleep',
    processes: processes('storage storage storage log log log stateless'),
    coordinators: 3,
    watched: true,
  },
  {
    folder: '32-outage-of-commits-after-a-kill',
    processes: processes('storage storage storage log log log stateless'),
    coordinators: 3,
    watched: true,
  },
  {
    folder: '33-tls',
    processes: TLS,
    events: [
      [16, start(...plansOf(TLS, 3))],
      [70, start({ ...tlsPlan(4), more: ['127.0.0.4:4501'] })],
    ],
    files: { '$DIR/c33/cert.pem': 'certificate', '$DIR/c33/key.pem': 'key', '$DIR/c33/ca.pem': 'certificates' },
  },
]

/** The files that `fileconfigure` of folder 10 reads, by the name of the command. */
export const CONFIGURATION_FILES: Readonly<Record<string, string>> = {
  '105-fileconfigure-bad-json': '{broken',
  '106-fileconfigure-no-change': JSON.stringify(CONFIGURATION),
  '107-fileconfigure-double': JSON.stringify({ ...CONFIGURATION, redundancy_mode: 'double' }),
  '108-fileconfigure-unknown-field': JSON.stringify({ ...CONFIGURATION, nonsense: 1 }),
  '109-fileconfigure-new': JSON.stringify(CONFIGURATION),
  '110-fileconfigure-excluded': JSON.stringify({ ...CONFIGURATION, excluded_servers: [] }),
  '111-fileconfigure-regions': JSON.stringify({
    ...CONFIGURATION,
    redundancy_mode: 'double',
    logs: 3,
    regions: [{ datacenters: [{ id: 'dc9', priority: 1 }] }],
  }),
  '112-fileconfigure-regions-force': JSON.stringify({
    ...CONFIGURATION,
    redundancy_mode: 'double',
    logs: 3,
    regions: [{ datacenters: [{ id: 'dc9', priority: 1 }] }],
  }),
}
