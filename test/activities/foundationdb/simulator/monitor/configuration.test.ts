import { describe, expect, it } from 'vitest'
import { readConfiguration } from '../../../../../activities/foundationdb/simulator/monitor/configuration.ts'
import { RestartDelay } from '../../../../../activities/foundationdb/simulator/monitor/restart-delay.ts'
import { readRecording } from './monitor-process.ts'

describe("fdbmonitor's configuration", () => {
  it('passes all other keys of a section as sorted options, as recorded', () => {
    const [server] = readConfiguration(readRecording('20-fdbmonitor/001-fdbmonitor.conf.txt'))
    const recorded =
      '$DIR/bin/fdbserver --cache_memory=100MiB --class=storage --cluster_file=$DIR/c20/data/1/fdb.cluster --datadir=$DIR/c20/data/1 --knob_disable_posix_kernel_aio=1 --locality_instance_id=storage-1 --locality_machineid=node-1 --locality_zoneid=node-1 --logdir=$DIR/c20/logs --loggroup=test --memory=1GiB --public_address=127.0.0.1:4501 --seed_cluster_file=$DIR/c20/fdb.cluster --storage_memory=200MB'
    expect(server).toMatchObject({ id: 'fdbserver.1', argv: recorded.split(/[ =]/), killOnConfigurationChange: false })
  })

  it('gives defaults of a class to its processes, and replaces $ID', () => {
    const text =
      '[fdbserver]\ncommand = /bin/server -x\ndatadir = /data/$ID\nflag_a = true\nflag_b = false\n[fdbserver.2]\nport = 2\n[fdbserver.0]\n[x]'
    expect(readConfiguration(text)).toEqual([
      {
        id: 'fdbserver.2',
        argv: ['/bin/server', '-x', '--datadir', '/data/2', '--a', '--port', '2'],
        killOnConfigurationChange: true,
        delays: { initial: 0, longest: 60, backoff: 60, resetAfter: 60 },
        deletedVariables: [],
      },
    ])
  })
})

describe('the delay before a restart', () => {
  const operator = { initial: 0, longest: 60, backoff: 60, resetAfter: 60 }
  const growing = { initial: 1, longest: 20, backoff: 2, resetAfter: 30 }
  it.each([
    {
      recording: '20/011',
      delays: operator,
      steps: [
        [0, 0],
        [61, 0.7],
      ],
    },
    {
      recording: '20/010',
      delays: growing,
      steps: [
        [2, 0.7],
        [2, 0.5],
        [4, 0.5],
        [8, 0.5],
        [16, 0.5],
        [22, 0.9],
      ],
    },
  ])('grows as in recording $recording', ({ delays, steps }) => {
    const delay = new RestartDelay()
    expect(steps.map(([, random = 0]) => delay.after(0, delays, random))).toEqual(steps.map(([seconds]) => seconds))
  })

  it('starts again after a long run', () => {
    const delay = new RestartDelay()
    expect([0, 0, 59, 60].map((ran) => delay.after(ran, operator, 0.5))).toEqual([0, 60, 60, 0])
  })
})
