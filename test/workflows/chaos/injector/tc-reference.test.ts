// Golden commands of the reference's tree. Source: spec/chaos.md 3.6 and 8.2 (N1 to N11), scenarios D1, D3 and D4.

import { describe, expect, it } from 'vitest'

import {
  commandText,
  isUnsupported,
  type Plan,
  type Unsupported,
} from '../../../../workflows/chaos/injector/command.ts'
import {
  planReference,
  type ReferencePlan,
  updateReference,
} from '../../../../workflows/chaos/injector/network/tc-reference.ts'
import { type AskParts, host, networkAsk } from './network-ask.ts'

const PRIO4 = 'prio bands 4 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1'
const PRIO2 = 'prio bands 2 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0'

describe('the reference backend', () => {
  it('N1: builds the tree of a pod operation by operation, on lo and eth0', () => {
    expect(tc({ spec: { delayMs: 100 } })).toEqual([
      `qdisc add dev lo root handle 1: ${PRIO4}`,
      `qdisc add dev eth0 root handle 1: ${PRIO4}`,
      `qdisc add dev lo parent 1:4 handle 2: ${PRIO2}`,
      `qdisc add dev eth0 parent 1:4 handle 2: ${PRIO2}`,
      'filter add dev lo protocol ip parent 2:0 handle 0x00020002 fw flowid 2:2',
      'filter add dev eth0 protocol ip parent 2:0 handle 0x00020002 fw flowid 2:2',
      'qdisc add dev lo parent 2:2 handle 3: netem delay 100ms 10ms',
      'qdisc add dev eth0 parent 2:2 handle 3: netem delay 100ms 10ms',
      'filter add dev eth0 protocol ip priority 1001 parent 1:0 flower ip_proto tcp dst_ip 10.1.0.1/32 flowid 1:1',
      'filter add dev lo protocol ip priority 1002 parent 1:0 flower ip_proto tcp dst_ip 10.0.0.2/32 flowid 1:1',
      'filter add dev eth0 protocol ip priority 1002 parent 1:0 flower ip_proto tcp dst_ip 10.0.0.2/32 flowid 1:1',
      'filter add dev lo protocol ip priority 1003 parent 1:0 flower ip_proto tcp flowid 1:4',
      'filter add dev eth0 protocol ip priority 1003 parent 1:0 flower ip_proto tcp flowid 1:4',
      'filter add dev lo protocol ip priority 1004 parent 1:0 flower ip_proto udp flowid 1:4',
      'filter add dev eth0 protocol ip priority 1004 parent 1:0 flower ip_proto udp flowid 1:4',
    ])
  })

  it.each([
    ['N1', { delayMs: 100 }, ['2:2 handle 3: netem delay 100ms 10ms']],
    ['N2', { delayMs: 5 }, ['2:2 handle 3: netem delay 5ms 1ms']],
    ['N3', { delayMs: 200, delayJitter: 50 }, ['2:2 handle 3: netem delay 200ms 100ms']],
    ['N4', { drop: 10, duplicate: 20, corrupt: 30 }, ['2:2 handle 3: netem loss 10% duplicate 20% corrupt 30%']],
    [
      'N6',
      { drop: 10, bandwidthLimit: 4096 },
      ['2:2 handle 3: netem loss 10%', '3: handle 4: tbf rate 4096bps latency 50ms burst 4096'],
    ],
    [
      'D1 all',
      { drop: 1, duplicate: 2, corrupt: 3, delayMs: 50, bandwidthLimit: 64 },
      [
        '2:2 handle 3: netem delay 50ms 5ms loss 1% duplicate 2% corrupt 3%',
        '3: handle 4: tbf rate 64bps latency 50ms burst 64',
      ],
    ],
  ])('%s: hangs the effects of a pod below the marked packets', (_, spec, expected) => {
    const effects = tc({ spec }).filter((line) => line.includes('dev eth0') && /netem|tbf/.test(line))
    expect(effects).toEqual(expected.map((line) => `qdisc add dev eth0 parent ${line}`))
  })

  it.each([
    [{ level: 'node' } as const, { bandwidthLimit: 12345 }, ['2: tbf rate 12345bps latency 50ms burst 12345']],
    [{ level: 'node' } as const, { delayMs: 100 }, ['2: netem delay 100ms 10ms']],
    [{ onInit: true }, { drop: 10, delayMs: 100 }, ['2: netem delay 100ms 10ms loss 10%']],
  ])('N5: hangs the effects of %j right below the disrupted band', (parts, spec, expected) => {
    const effects = tc({ ...parts, spec }).filter((line) => line.includes('dev eth0') && /netem|tbf/.test(line))
    expect(effects).toEqual(expected.map((line) => `qdisc add dev eth0 parent 1:4 handle ${line}`))
    expect(tc({ ...parts, spec }).filter((line) => /parent 2:0|bands 2/.test(line))).toEqual([])
  })

  it('keeps ssh, ARP and the cloud metadata of a node working', () => {
    expect(tc({ level: 'node', spec: { drop: 10 } })).toEqual([
      `qdisc add dev eth0 root handle 1: ${PRIO4}`,
      'qdisc add dev eth0 parent 1:4 handle 2: netem loss 10%',
      'filter add dev eth0 protocol ip priority 1001 parent 1:0 flower ip_proto tcp src_port 22 flowid 1:1',
      'filter add dev eth0 protocol arp priority 1002 parent 1:0 flower flowid 1:1',
      'filter add dev eth0 protocol ip priority 1003 parent 1:0 flower ip_proto tcp dst_ip 169.254.169.254/32 flowid 1:1',
      'filter add dev eth0 protocol ip priority 1004 parent 1:0 flower ip_proto tcp flowid 1:4',
      'filter add dev eth0 protocol ip priority 1005 parent 1:0 flower ip_proto udp flowid 1:4',
    ])
  })

  it('N7, N8: matches answers by the source port, and connection states after the ports', () => {
    const hosts = [host({ port: 8080, flow: 'ingress', connState: 'new' })]
    expect(filtersOf({ spec: { drop: 10, hosts } })).toEqual([
      '1003 parent 1:0 flower ip_proto tcp src_port 8080 ct_state +trk+new flowid 1:4',
      '1004 parent 1:0 flower ip_proto udp src_port 8080 ct_state +trk+new flowid 1:4',
    ])
  })

  it('passes allowed hosts before it disrupts others', () => {
    const spec = {
      drop: 10,
      allowedHosts: [host({ host: '10.9.0.0/16', protocol: 'tcp' })],
      hosts: [host({ host: '10.0.0.0/8', port: 80, protocol: 'tcp' })],
    }
    expect(filtersOf({ spec })).toEqual([
      '1003 parent 1:0 flower ip_proto tcp dst_ip 10.9.0.0/16 flowid 1:1',
      '1004 parent 1:0 flower ip_proto tcp dst_ip 10.0.0.0/8 dst_port 80 flowid 1:4',
    ])
  })

  it('N9: disrupts the same share of the addresses in every injector, at least one', () => {
    const facts = { resolved: { 'a.example': ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4'] } }
    const chosen = (percentage: number) => {
      const hosts = [host({ host: 'a.example', protocol: 'tcp', percentage })]
      return filtersOf({ spec: { drop: 10, hosts }, facts }).map((line) => /dst_ip (\S+)/.exec(line)?.[1])
    }
    expect(chosen(50)).toHaveLength(2)
    expect(chosen(50)).toEqual(chosen(50))
    expect(chosen(1)).toHaveLength(1)
    expect(chosen(50)).toContain(chosen(1)[0])
    expect(chosen(100)).toHaveLength(4)
  })

  it('N10: removes the roots, which may not exist, and the marking rules', () => {
    const { undo } = planned({ spec: { delayMs: 100 } })
    expect(undo.slice(0, 2)).toEqual(
      ['lo', 'eth0'].map((name) => ({
        do: 'run',
        in: 'target',
        gone: [{ code: 2 }],
        argv: ['tc', 'qdisc', 'del', 'dev', name, 'root'],
      })),
    )
    expect(undo.slice(2).map(commandText)).toEqual([
      'iptables -w -t nat -D OUTPUT -m state --state NEW,ESTABLISHED -m comment --comment pawl-chaos',
      'iptables -w -t mangle -D POSTROUTING -m cgroup --path kubepods/pod1/c1 -m comment --comment pawl-chaos -j MARK --set-mark 0x00020002',
    ])
  })

  it('N11: places 2048 filters and refuses one more', () => {
    const addresses = (count: number) =>
      Array.from({ length: count }, (_, index) => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`)
    const ask = (count: number) =>
      networkAsk({
        spec: { drop: 10, hosts: [host({ host: 'a.example', protocol: 'tcp' })] },
        facts: { resolved: { 'a.example': addresses(count) } },
      })
    expect(isUnsupported(planReference(ask(2046)))).toBe(false)
    expect(planReference(ask(2047))).toEqual({
      unsupported: ['the disruption needs 2049 filters; expected at most 2048'],
    })
  })

  it('D3: gives an interface without a queue a temporary one', () => {
    const interfaces = [
      { name: 'lo', qlen: 1000 },
      { name: 'eth0', qlen: 0 },
    ]
    const { apply, undo } = planned({ spec: { drop: 10 }, facts: { interfaces } })
    const lines = apply.map(commandText)
    expect(lines.filter((line) => line.startsWith('ip '))).toEqual([
      'ip link set dev eth0 txqueuelen 1000',
      'ip link set dev eth0 txqueuelen 0',
    ])
    expect(lines[0]).toBe('ip link set dev eth0 txqueuelen 1000')
    expect(undo.map(commandText)).toContain('ip link set dev eth0 txqueuelen 0')
    expect(
      planned({ spec: { drop: 10 } })
        .apply.map(commandText)
        .join(),
    ).not.toContain('txqueuelen')
  })

  it('marks by cgroup version 1 if the machine uses it', () => {
    const facts = { containers: [{ version: 1, classidFile: '/cg/net_cls/c1/net_cls.classid' } as const] }
    const { apply, undo } = planned({ spec: { drop: 10 }, facts })
    expect(apply.slice(-2).map(commandText)).toEqual([
      "write '0x00020002' to /cg/net_cls/c1/net_cls.classid",
      'iptables -w -t mangle -I POSTROUTING 1 -m cgroup --cgroup 0x00020002 -m comment --comment pawl-chaos -j MARK --set-mark 0x00020002',
    ])
    expect(commandText(undo.at(-1)!)).toBe("write '0' to /cg/net_cls/c1/net_cls.classid")
  })

  it('refuses an interface with a root of another program, which the undo would remove', () => {
    const facts = { interfaces: [{ name: 'eth0', qlen: 1000, rootQdisc: 'fq 8001:' }] }
    expect(planReference(networkAsk({ spec: { drop: 10 }, facts }))).toEqual({
      unsupported: ['the interface eth0 already has the queueing discipline fq 8001:'],
    })
  })

  it('refuses HTTP filters, IPv6 addresses and unknown interfaces', () => {
    const spec = { drop: 10, paths: ['/a'], hosts: [host({ host: '2001:db8::1' }), host({ host: 'gone.example' })] }
    expect(planReference(networkAsk({ spec }))).toEqual({
      unsupported: [
        'requests cannot be selected by HTTP method or path, because that needs an eBPF classifier',
        'host 2001:db8::1 is an IPv6 address; only IPv4 is disrupted',
        'host gone.example has no IPv4 address',
      ],
    })
  })
})

describe('the filters of the reference backend after names resolve to other addresses', () => {
  const hosts = [host({ host: 'a.example', protocol: 'tcp' }), host({ host: 'b.example', protocol: 'tcp' })]
  const allowedHosts = [host({ host: 'c.example', protocol: 'tcp' })]
  const ask = (a: readonly string[], c = ['192.0.2.9']) =>
    networkAsk({
      level: 'node',
      spec: { drop: 10, hosts, allowedHosts },
      facts: { resolved: { 'a.example': a, 'b.example': ['192.0.2.7'], 'c.example': c } },
    })
  const update = (first: readonly string[], then: ReturnType<typeof ask>) => {
    const before = planReference(ask(first)) as ReferencePlan
    const changed = updateReference(before.placed, then)
    if ('unsupported' in changed) throw new Error(changed.unsupported.join())
    return changed.commands.map((command) => commandText(command).replace('tc filter ', '').replace('dev eth0 ', ''))
  }
  const add = (priority: number, ip: string, band = '1:4') =>
    `add protocol ip priority ${priority} parent 1:0 flower ip_proto tcp dst_ip ${ip}/32 flowid ${band}`

  it('stay unchanged without a new address', () => {
    expect(update(['192.0.2.1'], ask(['192.0.2.1']))).toEqual([])
  })

  it.each([
    ['a change', ['192.0.2.1'], ['192.0.2.2'], ['delete priority 1005', add(1007, '192.0.2.2')]],
    [
      'an addition',
      ['192.0.2.1'],
      ['192.0.2.1', '192.0.2.2'],
      ['delete priority 1005', add(1007, '192.0.2.1'), add(1008, '192.0.2.2')],
    ],
    [
      'a removal',
      ['192.0.2.1', '192.0.2.2'],
      ['192.0.2.2'],
      ['delete priority 1005', 'delete priority 1006', add(1008, '192.0.2.2')],
    ],
  ])('are replaced for that host after %s', (_, first, then, expected) => {
    expect(update(first, ask(then))).toEqual(expected)
  })

  it('have higher priority numbers than the filters of an allowed host, also after the allowed host changes its address', () => {
    expect(update(['192.0.2.1'], ask(['192.0.2.1'], ['192.0.2.8']))).toEqual([
      ...['delete priority 1004', 'delete priority 1005', 'delete priority 1006'],
      ...[add(1007, '192.0.2.8', '1:1'), add(1008, '192.0.2.1'), add(1009, '192.0.2.7')],
    ])
  })
})

function planned(parts: AskParts): Plan {
  const plan: ReferencePlan | Unsupported = planReference(networkAsk(parts))
  if (isUnsupported(plan)) throw new Error(plan.unsupported.join('\n'))
  return plan
}

function tc(parts: AskParts): string[] {
  return planned(parts)
    .apply.map(commandText)
    .filter((line) => line.startsWith('tc '))
    .map((line) => line.slice(3))
}

/** The filters of eth0 after the safeguards. */
function filtersOf(parts: AskParts): string[] {
  return tc(parts)
    .flatMap((line) => /^filter add dev eth0 protocol ip priority (.*)$/.exec(line)?.[1] ?? [])
    .filter((line) => Number(line.slice(0, 4)) > 1002)
}
