// `spec.databaseConfiguration` and the configuration that the database reports. Wire format: spec/foundationdb.md 1.1.

import { integer, list, oneOf, record, text, type ValueOf } from '../../../kit/index.ts'

export const REDUNDANCY_MODES = ['single', 'double', 'triple', 'three_data_hall'] as const
export type RedundancyMode = (typeof REDUNDANCY_MODES)[number]

export const STORAGE_ENGINES = [
  ...(['ssd', 'ssd-1', 'ssd-2', 'memory', 'memory-1', 'memory-2', 'ssd-redwood-1-experimental'] as const),
  ...(['ssd-redwood-1', 'ssd-rocksdb-experimental', 'ssd-rocksdb-v1', 'ssd-sharded-rocksdb'] as const),
  ...(['memory-radixtree-beta', 'custom'] as const),
] as const
export type StorageEngine = (typeof STORAGE_ENGINES)[number]

/** In the order of the configure command. Source: spec/foundationdb.md 4.6. */
export const ROLES = [
  ...(['storage', 'logs', 'proxies', 'commit_proxies', 'grv_proxies'] as const),
  ...(['resolvers', 'log_routers', 'remote_logs'] as const),
] as const
export type Role = (typeof ROLES)[number]

const regionField = record('A region.', {
  datacenters: list(
    'The data centres of the region.',
    record('A data centre.', {
      id: text('The ID: the locality dcid of its processes.', { maxLength: 100 }),
      priority: integer('The priority; the primary data centre has the highest.'),
      satellite: integer('1 for a satellite, which holds only logs.', { minimum: 0, maximum: 1 }),
    }),
    { maxItems: 20 },
  ),
  satellite_logs: integer('The number of logs in the satellites.'),
  satellite_redundancy_mode: text('The redundancy of the satellite logs.', { maxLength: 100 }),
})

export type Region = ValueOf<typeof regionField>
export type DataCenter = NonNullable<Region['datacenters']>[number]

const count = (what: string) => integer(`The number of ${what}; 0 or absent: derived from redundancy_mode; -1: none.`)

export const databaseConfigurationField = record('The configuration of the database.', {
  redundancy_mode: oneOf('The number of copies; default: double.', [...REDUNDANCY_MODES, '']),
  storage_engine: oneOf('The storage engine; default: ssd-2.', [...STORAGE_ENGINES, '']),
  usable_regions: integer('The number of regions that hold the data; default: 1.', { minimum: 0 }),
  regions: list('The regions; empty: one data centre.', regionField, { maxItems: 10 }),
  storage: count('storage processes'),
  logs: count('logs'),
  proxies: count('proxies'),
  commit_proxies: count('commit proxies'),
  grv_proxies: count('GRV proxies'),
  resolvers: count('resolvers'),
  log_routers: count('log routers'),
  remote_logs: count('logs in the remote region'),
  log_spill: integer('The spill type of the logs.'),
  storage_migration_type: oneOf('How storage processes change to another storage engine.', [
    ...(['', 'disabled', 'gradual', 'aggressive'] as const),
  ]),
  perpetual_storage_wiggle: integer('1: the database recreates its storage processes one after the other.', {
    minimum: 0,
    maximum: 1,
  }),
  perpetual_storage_wiggle_locality: text('Only processes with this locality, such as zoneid:a, are recreated.', {
    maxLength: 200,
  }),
  perpetual_storage_wiggle_engine: oneOf('The storage engine of recreated processes.', [
    ...STORAGE_ENGINES,
    'none',
    '',
  ]),
  excluded_servers: list(
    'Excluded processes; only in the status.',
    record('An excluded address or locality.', {
      address: text('The address.'),
      locality: text('The locality.'),
    }),
  ),
})

export type DatabaseConfiguration = ValueOf<typeof databaseConfigurationField>
