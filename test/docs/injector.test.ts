import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

import { describe, expect, it } from 'vitest'

import { PROGRAMS, VARIANTS } from '../../deploy/image/variants.ts'
import { DEFAULT_CONFIG } from '../../workflows/chaos/config.ts'
import { INJECTOR_KINDS } from '../../workflows/chaos/contract.ts'
import { chaosPod } from '../../workflows/chaos/disruption/chaos-pod.ts'
import { pod as targetPod } from '../workflows/chaos/disruption/passes.ts'
import { firstColumn, section } from './markdown.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const page = await readFile(`${ROOT}/docs/reference/injector.md`, 'utf8')

// Programs of Debian's packages.
const KNOWN = {
  iproute2: ['ip', 'tc', 'ss', 'bridge'],
  iptables: ['iptables', 'ip6tables', 'iptables-restore'],
  'util-linux': ['nsenter', 'unshare', 'mount', 'umount', 'setsid', 'lsblk', 'findmnt'],
  coreutils: ['cat', 'test', 'df', 'stat'],
  dash: ['sh'],
  procps: ['pkill', 'ps', 'sysctl'],
  kmod: ['modprobe'],
  nftables: ['nft'],
  ipset: ['ipset'],
  conntrack: ['conntrack'],
  'stress-ng': ['stress-ng'],
}

describe('the page on the injector', () => {
  it('lists every variable that the injector reads', async () => {
    const settings = await readFile(`${ROOT}/activities/chaos/injector/settings.ts`, 'utf8')
    const read = [...settings.matchAll(/text\('([A-Z_]+)'\)/g)].flatMap(([, name]) => name ?? [])
    expect([...firstColumn(section(page, '## Variables'))].sort()).toEqual([...new Set(read)].sort())
  })

  it('says of every kind how it is done', () => {
    for (const { name } of INJECTOR_KINDS) expect(section(page, '## What it does')).toContain(`| ${name} |`)
  })
})

describe("the injector's image on that page", () => {
  const image = section(page, '## Its image')
  const pod = podOf()
  const [container] = pod.spec.containers

  it('has the programs that the injector starts, and no others', async () => {
    const started = await programsIn(['activities/chaos/injector', 'workflows/chaos/injector'])
    const [probe = ''] = container.readinessProbe.exec.command
    const needed = new Set([...started, probe])
    expect([...PROGRAMS].sort()).toEqual([...needed].sort())
    for (const program of PROGRAMS) expect(image).toContain(`\`${program}\``)
  })

  it('starts the injector, because chaos pods set arguments and no command', () => {
    expect(container).not.toHaveProperty('command')
    expect(container.args[0]).toBe('network-disruption')
    const [, injector, handler] = VARIANTS
    expect(injector).toMatchObject({ name: 'injector', user: '0:0' })
    expect(injector?.entrypoint.slice(-2)).toEqual(['/opt/pawl/worker/program.js', 'injector'])
    expect(handler?.entrypoint.slice(-2)).toEqual(['injector', 'chaos-handler'])
    for (const name of ['injector', 'handler']) expect(image).toContain(`VERSION-${name}`)
  })

  it('says what the pod has of its node', () => {
    const volumes = new Map(pod.spec.volumes.map(({ name, hostPath }) => [name, hostPath.path]))
    const mounts = container.volumeMounts.map(({ name, mountPath, readOnly }) => {
      return `| \`${mountPath}\` | \`${String(volumes.get(name))}\`${readOnly === true ? ', read only' : ''} |`
    })
    for (const row of mounts) expect(image).toContain(row)
    expect(firstColumn(image)).toHaveLength(mounts.length)
    expect(pod.spec.hostPID).toBe(true)
    expect(container.securityContext).toEqual({ privileged: true })
  })
})

interface PodOnPage {
  readonly spec: {
    readonly hostPID: boolean
    readonly containers: readonly [
      {
        readonly args: readonly string[]
        readonly securityContext: object
        readonly readinessProbe: { readonly exec: { readonly command: readonly string[] } }
        readonly volumeMounts: readonly {
          readonly name: string
          readonly mountPath: string
          readonly readOnly?: boolean
        }[]
      },
    ]
    readonly volumes: readonly { readonly name: string; readonly hostPath: { readonly path: string } }[]
  }
}

function podOf(): PodOnPage {
  const made = chaosPod({
    name: 'chaos-slow',
    kind: 'network-disruption',
    disruption: { name: 'slow', namespace: 'shop', uid: 'uid' },
    target: targetPod('web'),
    spec: { selector: { app: 'web' }, count: 1, network: { drop: 30 } },
    config: DEFAULT_CONFIG,
    times: { createPods: 0, inject: 0, end: 60_000 },
    cloudHosts: [],
    now: 0,
  })
  if (!('pod' in made)) throw new Error(made.problem.message)
  return made.pod as unknown as PodOnPage
}

/** Words that stand first, or behind `--`, in a command line of the sources, of the programs that Debian has for such things. */
async function programsIn(folders: readonly string[]): Promise<ReadonlySet<string>> {
  const paths = await Promise.all(
    folders.map(async (folder) => {
      const names = await readdir(`${ROOT}/${folder}`, { recursive: true })
      return names.filter((name) => name.endsWith('.ts')).map((name) => `${ROOT}/${folder}/${name}`)
    }),
  )
  const texts = await Promise.all(paths.flat().map((path) => readFile(path, 'utf8')))
  const starts = (program: string) =>
    new RegExp(`\\[(?:\\.\\.\\.[\\w ]+, )?'${program}',|'--', '${program}'|\\('${program}',`)
  const known = Object.values(KNOWN).flat()
  return new Set(known.filter((program) => texts.some((text) => starts(program).test(text))))
}
