// The facts that the pre-run collects, from files of /proc and control groups that the test has written.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { knownCapabilities, lacks } from '../../../../activities/chaos/injector/capabilities.ts'
import { serviceAddressesOf, restartedContainers } from '../../../../activities/chaos/injector/cluster.ts'
import { findContainer } from '../../../../activities/chaos/injector/containers.ts'
import { containerMatch, groupOf } from '../../../../activities/chaos/injector/control-groups.ts'
import { candidates, parseResolvConf, resolveHosts } from '../../../../activities/chaos/injector/resolve-hosts.ts'
import { readSettings } from '../../../../activities/chaos/injector/settings.ts'
import type { Run } from '../../../../activities/chaos/injector/shell.ts'
import { host } from '../../../workflows/chaos/injector/network-ask.ts'

const ID = 'a'.repeat(64)

let folder: string
let roots: { readonly proc: string; readonly cgroup: string; readonly run: Run }

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-finding-'))
  roots = {
    proc: join(folder, 'proc'),
    cgroup: join(folder, 'cgroup'),
    run: (argv) => Promise.reject(new Error(`nothing is run here, not ${argv.join(' ')}`)),
  }
})

afterEach(() => rm(folder, { recursive: true }))

describe('a container', () => {
  it('is found by its process with a parent outside of the container', async () => {
    await lives(10, { parent: 1, cgroup: '0::/system.slice/containerd.service' })
    await lives(31, { parent: 30, cgroup: `0::/kubepods/pod1/${ID}` })
    await lives(30, { parent: 10, cgroup: `0::/kubepods/pod1/${ID}` })
    const found = await findContainer(roots.proc, { name: 'app', id: `containerd://${ID}` })
    expect(found).toEqual({ name: 'app', main: { pid: 30, startTime: '4729' } })
  })

  it('may be represented by another process', async () => {
    await lives(30, { parent: 1, cgroup: '0::/' })
    const found = await findContainer(roots.proc, { name: 'app', id: 'process://30' })
    expect(found.main.pid).toBe(30)
  })

  it('does not exist without a living process', async () => {
    await lives(30, { parent: 1, cgroup: `0::/kubepods/pod1/${ID}`, state: 'Z' })
    for (const id of [`docker://${ID}`, 'containerd://other', 'process://31'])
      await expect(findContainer(roots.proc, { name: 'app', id })).rejects.toThrow(
        `container app (${id}) has no process`,
      )
  })
})

describe('the control group of a process', () => {
  it('has version 2 if there is no other hierarchy', async () => {
    await lives(30, { parent: 1, cgroup: '0::/kubepods/c1' })
    await there('cgroup/cgroup.controllers', 'cpu memory io\n')
    await there('cgroup/kubepods/c1/cgroup.controllers', 'cpu memory\n')
    expect(await groupOf(roots, 30, 'memory')).toEqual({ version: 2, folder: join(roots.cgroup, 'kubepods/c1') })
    expect(await groupOf(roots, 30, 'io')).toBeUndefined()
    expect(await containerMatch(roots, 30)).toEqual({ version: 2, path: 'kubepods/c1' })
  })

  it('has version 1 in the hierarchy of its controller, also when controllers share a mount', async () => {
    await lives(30, { parent: 1, cgroup: '4:cpu,cpuacct:/pod/c1\n3:net_cls:/pod/c1\n2:memory:/pod/c2' })
    await there('cgroup/cpu,cpuacct/pod/c1/tasks', '')
    await there('cgroup/net_cls/pod/c1/net_cls.classid', '0\n')
    await there('cgroup/memory/pod/c2/tasks', '')
    expect(await groupOf(roots, 30, 'cpuacct')).toEqual({
      version: 1,
      folder: join(roots.cgroup, 'cpu,cpuacct/pod/c1'),
    })
    expect(await groupOf(roots, 30, 'memory')).toEqual({ version: 1, folder: join(roots.cgroup, 'memory/pod/c2') })
    const classidFile = join(roots.cgroup, 'net_cls/pod/c1/net_cls.classid')
    expect(await containerMatch(roots, 30)).toEqual({ version: 1, classidFile })
  })

  it('distinguishes no packets if it is the root group', async () => {
    await lives(30, { parent: 1, cgroup: '0::/' })
    await there('cgroup/unified/cgroup.controllers', '\n')
    expect(await containerMatch(roots, 30)).toBeUndefined()
  })

  it("is read in the node's cgroup namespace if its path leads out of ours", async () => {
    await lives(30, { parent: 1, cgroup: '0::/../../kubepods/c1' })
    await there('cgroup/cgroup.controllers', 'memory\n')
    const asked: string[] = []
    const run: Run = (argv) => {
      asked.push(argv.join(' '))
      return Promise.resolve({ code: 0, stdout: '0::/kubepods/c1\n', stderr: '' })
    }
    expect(await containerMatch({ ...roots, run }, 30)).toEqual({ version: 2, path: 'kubepods/c1' })
    expect(asked).toEqual([`nsenter --cgroup=${roots.proc}/1/ns/cgroup -- cat ${roots.proc}/30/cgroup`])
  })
})

describe('host names', () => {
  const ask = async (
    hosts: readonly ReturnType<typeof host>[],
    answers: Readonly<Record<string, readonly string[]>>,
  ) => {
    const complaints: string[] = []
    const spec = {
      hosts,
      allowedHosts: [],
      dnsPodResolvConf: join(folder, 'pod.conf'),
      dnsNodeResolvConf: join(folder, 'node.conf'),
    }
    const lookup = (name: string, servers: readonly string[]) => {
      const answer = answers[`${name}@${servers.join()}`]
      const failed = new Error(`no ${name} at ${servers.join()}`)
      return answer === undefined ? Promise.reject(failed) : Promise.resolve(answer)
    }
    const found = await resolveHosts(spec, lookup, (name, problem) => complaints.push(`${name}: ${problem}`))
    return { found, complaints }
  }

  beforeEach(async () => {
    await writeFile(join(folder, 'pod.conf'), 'search ns.svc.test svc.test\nnameserver 10.0.0.10\noptions ndots:2\n')
    await writeFile(join(folder, 'node.conf'), '# of the node\nnameserver 10.0.0.1\nnameserver 10.0.0.2\n')
  })

  it('are resolved with resolv.conf, unlike addresses', async () => {
    const hosts = [host({ host: 'web' }), host({ host: '10.1.0.0/16' }), host({ host: '' })]
    const { found, complaints } = await ask(hosts, { 'web.svc.test@10.0.0.10': ['10.2.0.9', '10.2.0.10'] })
    expect(found).toEqual({ web: ['10.2.0.10', '10.2.0.9'] })
    expect(complaints).toEqual([])
  })

  it('are resolved with the requested servers and their fallback', async () => {
    const answers = { 'web.test@10.0.0.1,10.0.0.2': ['10.3.0.1'] }
    const one = async (dnsResolver: 'pod' | 'node' | 'pod-fallback-node') =>
      (await ask([host({ host: 'web.test', dnsResolver })], answers)).found['web.test']
    expect([await one('pod'), await one('node'), await one('pod-fallback-node')]).toEqual([
      ...[undefined, ['10.3.0.1'], ['10.3.0.1']],
    ])
  })

  it('without an address are reported', async () => {
    const { found, complaints } = await ask([host({ host: 'gone.example.', dnsResolver: 'node' })], {})
    expect(found).toEqual({})
    expect(complaints).toEqual(['gone.example.: no gone.example. at 10.0.0.1,10.0.0.2'])
  })

  it('are tried with search domains in the order of ndots', () => {
    const conf = parseResolvConf('search a.test b.test\nnameserver 10.0.0.1\n')
    expect(conf).toEqual({ servers: ['10.0.0.1'], search: ['a.test', 'b.test'], ndots: 1 })
    expect(candidates('x', conf)).toEqual(['x.a.test', 'x.b.test', 'x'])
    expect(candidates('x.y', conf)).toEqual(['x.y', 'x.y.a.test', 'x.y.b.test'])
  })
})

describe('a target', () => {
  const before = [
    { name: 'app', id: 'containerd://1' },
    { name: 'sidecar', id: 'containerd://2' },
  ]
  const pod = (...ids: readonly (readonly [string, string, boolean])[]) => ({
    metadata: { name: 'p' },
    status: {
      containerStatuses: ids.map(([name, containerID, isRunning]) => ({
        name,
        containerID,
        state: isRunning ? { running: {} } : { waiting: {} },
      })),
    },
  })

  it('has restarted when all containers run and one has another ID', () => {
    const now = pod(['app', 'containerd://3', true], ['sidecar', 'containerd://2', true], ['other', 'x', true])
    expect(restartedContainers(now, before)).toEqual([{ name: 'app', id: 'containerd://3' }, before[1]])
  })

  it.each([
    ['nothing has changed', pod(['app', 'containerd://1', true], ['sidecar', 'containerd://2', true])],
    ['one does not run yet', pod(['app', 'containerd://3', true], ['sidecar', 'containerd://2', false])],
    ['one is not there', pod(['app', 'containerd://3', true])],
    ['nothing is known', { metadata: { name: 'p' } }],
  ])('was not started again when %s', (_, now) => {
    expect(restartedContainers(now, before)).toBeUndefined()
  })
})

describe('a Service', () => {
  const pods = [
    {
      metadata: { name: 'a' },
      status: { podIP: '10.1.0.1' },
      spec: { containers: [{ ports: [{ name: 'web', containerPort: 8081 }] }] },
    },
    { metadata: { name: 'b' }, status: {} },
  ]

  it('D5: has its cluster IP and the IPs of its pods', () => {
    const served = [
      { name: 'http', port: 80, targetPort: 'web' },
      { port: 53, protocol: 'UDP' },
    ]
    expect(serviceAddressesOf({ isHeadless: false, clusterIp: '10.96.0.1', served, pods })).toEqual([
      { ip: '10.96.0.1', port: 80, protocol: 'tcp' },
      { ip: '10.96.0.1', port: 53, protocol: 'udp' },
      { ip: '10.1.0.1', port: 8081, protocol: 'tcp' },
      { ip: '10.1.0.1', port: 53, protocol: 'udp' },
    ])
  })

  it('has all ports of its pods if it is headless', () => {
    const served = [{ port: 80 }]
    expect(serviceAddressesOf({ isHeadless: true, clusterIp: 'None', served, pods })).toEqual([
      { ip: '10.1.0.1', port: 0, protocol: 'tcp' },
      { ip: '10.1.0.1', port: 0, protocol: 'udp' },
    ])
  })
})

describe('the capabilities of a kernel', () => {
  it('K6: are tried once for each boot', async () => {
    await there('proc/sys/kernel/random/boot_id', 'boot-1\n')
    const lines: string[] = []
    const run: Run = (argv) => {
      lines.push(argv.join(' '))
      const isLacking = argv.join(' ').includes('netem')
      return Promise.resolve({
        code: isLacking ? 2 : 0,
        stdout: '',
        stderr: isLacking ? 'Error: kind is unknown.\n' : '',
      })
    }
    const missing = await knownCapabilities(run, roots.proc, join(folder, 'state'))
    expect(missing).toEqual({ netem: 'Error: kind is unknown.' })
    const tries = lines.length
    // A trial waits for the lock of another iptables: otherwise it would report a missing capability.
    expect(lines.filter((line) => line.includes('iptables') && !line.includes(' -w'))).toEqual([])
    expect(await knownCapabilities(run, roots.proc, join(folder, 'state'))).toEqual(missing)
    expect(lines).toHaveLength(tries)
    await there('proc/sys/kernel/random/boot_id', 'boot-2\n')
    await knownCapabilities(run, roots.proc, join(folder, 'state'))
    expect(lines).toHaveLength(2 * tries)
    expect(lacks(missing, ['netem', 'htb'])).toEqual(['this machine lacks netem: Error: kind is unknown.'])
  })
})

describe('the environment of an injector', () => {
  it('must name an existing backend', () => {
    expect(readSettings({ CHAOS_INJECTOR_NETWORK_BACKEND: 'tc-reference' }).backend).toBe('tc-reference')
    expect(() => readSettings({ CHAOS_INJECTOR_NETWORK_BACKEND: 'bpf' })).toThrow(
      "CHAOS_INJECTOR_NETWORK_BACKEND: found 'bpf'; expected one of tc-reference, iptables-htb",
    )
  })
})

interface LifeOf {
  readonly parent: number
  readonly cgroup: string
  readonly state?: string
}

/** The files of a process in /proc. */
async function lives(pid: number, { parent, cgroup, state = 'S' }: LifeOf): Promise<void> {
  const fields = Array.from({ length: 30 }, (_, index) => String(4711 + index))
  await there(`proc/${pid}/stat`, `${pid} (a name) with) ${state} ${fields.join(' ')}\n`)
  await there(`proc/${pid}/status`, `Name:\ta\nPPid:\t${parent}\n`)
  await there(`proc/${pid}/cgroup`, `${cgroup}\n`)
}

async function there(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true })
  await writeFile(join(folder, path), text)
}
