// The backend for kernels without netem. Source: spec/chaos.md 8.3 (K1 to K5).

import { describe, expect, it } from 'vitest'

import { commandText, isUnsupported, type Plan } from '../../../../workflows/chaos/injector/command.ts'
import { planIptables, updateIptables } from '../../../../workflows/chaos/injector/network/iptables-htb.ts'
import { type AskParts, host, networkAsk } from './network-ask.ts'

const JUMP = '-m comment --comment pawl-chaos -j CHAOS-NET'

describe('the backend of iptables and HTB', () => {
  it('K1: drops packets after safeguards and allowed hosts, with all rules in one transaction', () => {
    const spec = {
      drop: 30,
      allowedHosts: [host({ host: '10.9.0.0/16', protocol: 'tcp' })],
      hosts: [host({ host: '10.0.0.0/8', port: 80, protocol: 'tcp' })],
    }
    const { apply } = planned({ spec })
    expect(apply).toHaveLength(1)
    expect(rules({ spec })).toEqual([
      '*mangle',
      ':CHAOS-NET - [0:0]',
      '-A CHAOS-NET -o eth0 -d 10.1.0.1 -p tcp -j RETURN',
      '-A CHAOS-NET -d 10.0.0.2 -p tcp -j RETURN',
      '-A CHAOS-NET -d 10.9.0.0/16 -p tcp -j RETURN',
      '-A CHAOS-NET -d 10.0.0.0/8 -p tcp --dport 80 -m cgroup --path kubepods/pod1/c1 -m statistic --mode random --probability 0.30 -j DROP',
      `-I POSTROUTING 1 -o lo ${JUMP}`,
      `-I POSTROUTING 1 -o eth0 ${JUMP}`,
      'COMMIT',
    ])
  })

  it('K2: limits the bandwidth with a class for the packets', () => {
    const spec = { bandwidthLimit: 12345, hosts: [host({ port: 80, protocol: 'tcp' })] }
    const { apply } = planned({ spec, level: 'node' })
    expect(apply.slice(0, -1).map(commandText)).toEqual([
      'tc qdisc add dev eth0 root handle ca05: htb default 1',
      'tc class add dev eth0 parent ca05: classid ca05:1 htb rate 100gbit',
      'tc class add dev eth0 parent ca05: classid ca05:4 htb rate 12345bps ceil 12345bps',
    ])
    expect(rules({ spec, level: 'node' })).toContain('-A CHAOS-NET -p tcp --dport 80 -j CLASSIFY --set-class ca05:4')
  })

  it('K3: refuses effects that this kernel does not support, and names each one', () => {
    const spec = { drop: 5, delayMs: 10, duplicate: 1, corrupt: 1 }
    const netem = 'needs the queueing discipline netem, which this kernel does not have'
    expect(planIptables(networkAsk({ spec }))).toEqual({
      unsupported: [`delay ${netem}`, `duplicate ${netem}`, `corrupt ${netem}`],
    })
  })

  it('K4: matches the answers to a client by its address and the port of the request', () => {
    const hosts = [host({ host: '10.0.0.7', port: 8080, protocol: 'tcp', flow: 'ingress', connState: 'est' })]
    expect(rules({ spec: { drop: 100, hosts }, onInit: true })).toContain(
      '-A CHAOS-NET -d 10.0.0.7 -p tcp --sport 8080 -m conntrack --ctstate ESTABLISHED -j DROP',
    )
  })

  it('K5: removes its jumps, its chain and its own root', () => {
    const { undo } = planned({ spec: { drop: 5, bandwidthLimit: 64 }, level: 'node' })
    expect(undo.map(commandText)).toEqual([
      `iptables -w -t mangle -D POSTROUTING -o eth0 ${JUMP}`,
      'iptables -w -t mangle -F CHAOS-NET',
      'iptables -w -t mangle -X CHAOS-NET',
      'tc qdisc del dev eth0 root handle ca05:',
    ])
  })

  it('refuses an interface with shaped bandwidth', () => {
    const facts = { interfaces: [{ name: 'eth0', qlen: 1000, rootQdisc: 'htb 1:' }] }
    expect(planIptables(networkAsk({ spec: { bandwidthLimit: 64 }, facts }))).toEqual({
      unsupported: ['the interface eth0 already has the queueing discipline htb 1:'],
    })
    expect(isUnsupported(planIptables(networkAsk({ spec: { drop: 5 }, facts })))).toBe(false)
  })

  it('disrupts the whole pod if its containers cannot be distinguished', () => {
    const plan = planIptables(networkAsk({ spec: { drop: 5 }, facts: { containers: [] } }))
    if (isUnsupported(plan)) throw new Error(plan.unsupported.join())
    expect(plan.apply.map(commandText).join()).not.toContain('cgroup')
  })

  it('disrupts several containers of a pod with one chain', () => {
    const containers = [
      { version: 2, path: 'pod1/a' },
      { version: 2, path: 'pod1/b' },
    ] as const
    const found = rules({ spec: { drop: 5, hosts: [host({ protocol: 'udp' })] }, facts: { containers } })
    expect(found.filter((line) => line.includes('cgroup'))).toEqual([
      '-A CHAOS-NET -p udp -m cgroup --path pod1/a -m statistic --mode random --probability 0.05 -j DROP',
      '-A CHAOS-NET -p udp -m cgroup --path pod1/b -m statistic --mode random --probability 0.05 -j DROP',
    ])
  })

  it('replaces its rules only when a name resolves to another address', () => {
    const ask = (ip: string) =>
      networkAsk({
        spec: { drop: 5, hosts: [host({ host: 'a.example', protocol: 'tcp' })] },
        facts: { resolved: { 'a.example': [ip] } },
      })
    expect(updateIptables(ask('192.0.2.1'), ask('192.0.2.1'))).toEqual([])
    const changed = updateIptables(ask('192.0.2.1'), ask('192.0.2.2'))
    expect(changed).toHaveLength(1)
    expect(JSON.stringify(changed)).toContain('-d 192.0.2.2 -p tcp')
    expect(JSON.stringify(changed)).not.toContain('POSTROUTING')
  })
})

function planned(parts: AskParts): Plan {
  const plan = planIptables(networkAsk(parts))
  if (isUnsupported(plan)) throw new Error(plan.unsupported.join('\n'))
  return plan
}

function rules(parts: AskParts): string[] {
  const last = planned(parts).apply.at(-1)
  return (last?.do === 'run' ? (last.input ?? '') : '').trimEnd().split('\n')
}
