// The variants of the image. Data only: build.ts builds them.

export interface Variant {
  /** The suffix of the tag; the engine has none. */
  readonly name: 'engine' | 'injector' | 'handler'
  readonly description: string
  /** Debian packages, with their dependencies in base-packages.json: a key of that file. */
  readonly base: 'runtime' | 'tools'
  /**
   * The module of the only program that the variant contains. Undefined: the complete npm package.
   * The variant has the modules that this program imports, and worker/program.js, which starts it.
   */
  readonly program: string | undefined
  readonly entrypoint: readonly string[]
  /** `uid:gid`. The injector needs root to enter the namespaces of its target. */
  readonly user: string
}

/** The programs of Debian packages that images contain, if their packages are in the image. The injector runs them. */
export const PROGRAMS = ['nsenter', 'unshare', 'ip', 'tc', 'iptables', 'iptables-restore', 'sh', 'cat', 'test']

/** Where the npm package is in the image. */
export const APP = 'opt/pawl'
const NODE = ['/usr/local/bin/node', '--disable-warning=ExperimentalWarning']
const NOBODY = '65532:65532'

export const VARIANTS: readonly Variant[] = [
  {
    name: 'engine',
    description: 'bridge, worker, webhook, api, migrate and all other commands of pawl',
    base: 'runtime',
    program: undefined,
    entrypoint: ['/usr/local/bin/pawl'],
    user: NOBODY,
  },
  {
    name: 'injector',
    description: 'the injector of chaos pods, with the system tools that it runs',
    base: 'tools',
    program: 'activities/chaos/injector/injector.js',
    entrypoint: [...NODE, `/${APP}/worker/program.js`, 'injector'],
    user: '0:0',
  },
  {
    name: 'handler',
    description: 'the init container that holds a pod until its disruption has started',
    base: 'runtime',
    program: 'activities/chaos/injector/injector.js',
    entrypoint: [...NODE, `/${APP}/worker/program.js`, 'injector', 'chaos-handler'],
    user: NOBODY,
  },
]
