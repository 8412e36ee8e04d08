import { describe, expect, it } from 'vitest'

import type { ClusterSpec } from '../../../../workflows/foundationdb/cluster/kind.ts'
import {
  expectedCommandLine,
  isSameCommandLine,
  monitorConfiguration,
  type MonitorInput,
} from '../../../../workflows/foundationdb/resources/monitor-configuration.ts'
import {
  isSameUnifiedConfiguration,
  unifiedCommandLine,
  unifiedConfiguration,
} from '../../../../workflows/foundationdb/resources/unified-configuration.ts'
import { settingsOf } from '../clusters.ts'

function inputOf(spec: Partial<ClusterSpec> = {}, change: Partial<MonitorInput> = {}): MonitorInput {
  return {
    settings: settingsOf(spec),
    processClass: 'storage',
    servers: 1,
    connectionString: 'db:id@10.1.1.1:4501',
    addresses: { tls: false, nonTLS: true },
    hasListenIPs: false,
    ...change,
  }
}

// Source: spec/foundationdb.md 4.11.
const BASIC = `[general]
kill_on_configuration_change = false
restart_delay = 60
[fdbserver.1]
command = $BINARY_DIR/fdbserver
cluster_file = /var/fdb/data/fdb.cluster
seed_cluster_file = /var/dynamic-conf/fdb.cluster
public_address = $FDB_PUBLIC_IP:4501
class = storage
logdir = /var/log/fdb-trace-logs
loggroup = db
datadir = /var/fdb/data
locality_instance_id = $FDB_INSTANCE_ID
locality_machineid = $FDB_MACHINE_ID
locality_zoneid = $FDB_ZONE_ID`

/** The lines after those of `BASIC`, and changed ones. */
function linesOf(input: MonitorInput): readonly string[] {
  const basic = new Set(BASIC.split('\n'))
  return monitorConfiguration(input)
    .split('\n')
    .filter((line) => !basic.has(line))
}

describe('the configuration of fdbmonitor', () => {
  it('has one section for a process', () => {
    expect(monitorConfiguration(inputOf())).toBe(BASIC)
  })

  it.each<[string, Partial<ClusterSpec>, Partial<MonitorInput>, readonly string[]]>([
    ['TLS', {}, { addresses: { tls: true, nonTLS: false } }, ['public_address = $FDB_PUBLIC_IP:4500:tls']],
    [
      'a change to TLS',
      {},
      { addresses: { tls: true, nonTLS: true } },
      ['public_address = $FDB_PUBLIC_IP:4500:tls,$FDB_PUBLIC_IP:4501'],
    ],
    ['listen addresses in all Pods', {}, { hasListenIPs: true }, ['listen_address = $FDB_POD_IP:4501']],
    ['listen addresses that are not wanted', { useExplicitListenAddress: false }, { hasListenIPs: true }, []],
    [
      'Services, which need listen addresses',
      { useExplicitListenAddress: false, routing: { publicIPSource: 'service' } },
      { hasListenIPs: true },
      ['listen_address = $FDB_POD_IP:4501'],
    ],
    ['a zone variable', { faultDomain: { valueFrom: '$RACK' } }, {}, ['locality_zoneid = $RACK']],
    ['a log group', { logGroup: 'logs' }, {}, ['loggroup = logs']],
    [
      'everything else in order',
      {
        mainContainer: { peerVerificationRules: 'S.CN=fdb' },
        processes: { general: { customParameters: ['knob_a=1', 'knob_b = x=y'] } },
        dataCenter: 'dc1',
        dataHall: 'hall1',
        routing: { useDNSInClusterFile: true },
      },
      { hasListenIPs: true },
      [
        'listen_address = $FDB_POD_IP:4501',
        'tls_verify_peers = S.CN=fdb',
        'knob_a = 1',
        'knob_b = x=y',
        'locality_dcid = dc1',
        'locality_data_hall = hall1',
        'locality_dns_name = $FDB_DNS_NAME',
      ],
    ],
    [
      'parameters of the class instead of general ones',
      { processes: { general: { customParameters: ['knob_a=1'] }, storage: { customParameters: ['knob_b=2'] } } },
      {},
      ['knob_b = 2'],
    ],
    [
      'a data hall as parameter',
      { dataHall: 'a', processes: { storage: { customParameters: ['locality_data_hall=b'] } } },
      {},
      ['locality_data_hall = b'],
    ],
  ])('has lines for %s', (_, spec, change, expected) => {
    expect(linesOf(inputOf(spec, change))).toEqual(expected)
  })

  it('has a section for each process of the Pod', () => {
    expect(linesOf(inputOf({}, { servers: 2, addresses: { tls: true, nonTLS: true } }))).toEqual([
      'public_address = $FDB_PUBLIC_IP:4500:tls,$FDB_PUBLIC_IP:4501',
      'datadir = /var/fdb/data/1',
      'locality_process_id = $FDB_INSTANCE_ID-1',
      '[fdbserver.2]',
      'public_address = $FDB_PUBLIC_IP:4502:tls,$FDB_PUBLIC_IP:4503',
      'datadir = /var/fdb/data/2',
      'locality_process_id = $FDB_INSTANCE_ID-2',
    ])
  })

  it('is empty without a database, and has no process with emptyMonitorConf', () => {
    expect(monitorConfiguration(inputOf({}, { connectionString: undefined }))).toBe('')
    expect(monitorConfiguration(inputOf({ buggify: { emptyMonitorConf: true } }))).toBe(
      '[general]\nkill_on_configuration_change = false\nrestart_delay = 60',
    )
  })
})

describe('the command line of a process', () => {
  const substitutions = {
    BINARY_DIR: '/usr/bin',
    FDB_PUBLIC_IP: '10.1.1.1',
    FDB_INSTANCE_ID: 'storage-1',
    FDB_MACHINE_ID: 'node-1',
    FDB_ZONE_ID: 'zone-1',
  }

  it('has sorted arguments, as fdbmonitor starts it', () => {
    expect(expectedCommandLine(inputOf(), 1, substitutions)).toBe(
      '/usr/bin/fdbserver --class=storage --cluster_file=/var/fdb/data/fdb.cluster --datadir=/var/fdb/data --locality_instance_id=storage-1 --locality_machineid=node-1 --locality_zoneid=zone-1 --logdir=/var/log/fdb-trace-logs --loggroup=db --public_address=10.1.1.1:4501 --seed_cluster_file=/var/dynamic-conf/fdb.cluster',
    )
  })

  it('has the number of the process and bracketed addresses with unified images', () => {
    const spec = { imageType: 'unified' as const, routing: { podIPFamily: 6 }, dataHall: 'h1' }
    const input = inputOf(spec, { servers: 2, addresses: { tls: true, nonTLS: true } })
    expect(unifiedCommandLine(input, 2, { ...substitutions, FDB_PUBLIC_IP: '10.1.1.1,fd00::1' })).toBe(
      '/usr/bin/fdbserver --class=storage --cluster_file=/var/fdb/data/fdb.cluster --datadir=/var/fdb/data/2 --locality_data_hall=h1 --locality_instance_id=storage-1 --locality_machineid=node-1 --locality_process_id=storage-1-2 --locality_zoneid=zone-1 --logdir=/var/log/fdb-trace-logs --loggroup=db --public_address=[fd00::1]:4502:tls,[fd00::1]:4503 --seed_cluster_file=/var/dynamic-conf/fdb.cluster',
    )
  })

  it('replaces the longest name first, and keeps unknown variables', () => {
    const spec = { processes: { storage: { customParameters: ['knob_x=$FDB_ZONE_ID_2', 'knob_y=$UNKNOWN'] } } }
    const line = expectedCommandLine(inputOf(spec), 1, { ...substitutions, FDB_ZONE_ID_2: 'b$&' })
    expect(line).toContain('--knob_x=b$& --knob_y=$UNKNOWN')
  })

  it('is the same with arguments in another order', () => {
    expect(isSameCommandLine('/b/fdbserver --a=1 --b=2 3', '/b/fdbserver --b=2 3  --a=1')).toBe(true)
    expect(isSameCommandLine('/b/fdbserver --a=1', '/c/fdbserver --a=1')).toBe(false)
    expect(isSameCommandLine('/b/fdbserver --a=1', '/b/fdbserver --a=1 --b=2')).toBe(false)
  })
})

describe('the configuration that a monitor of unified images reports', () => {
  const wanted = unifiedConfiguration(inputOf({ imageType: 'unified' }), '7.1.67')
  const { version, ...rest } = JSON.parse(wanted) as { readonly version: string }
  it.each([
    ['with the path of its program and another order', JSON.stringify({ ...rest, version, binaryPath: '/b' }), true],
    ['of another version', JSON.stringify({ ...rest, version: '7.1.66' }), false],
    ['that is no JSON', '{', false],
  ])('%s', (_, found, isSame) => {
    expect(isSameUnifiedConfiguration(found, wanted)).toBe(isSame)
  })
})
