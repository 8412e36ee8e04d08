// A pod on this machine: its record, its volumes and the processes of its containers.

import { join } from 'node:path'

import type { KubeClient } from '../../activities/kube/client.ts'
import { isNotFound } from '../../activities/kube/errors.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { type ContainerState, type OpenPods, type PodContainer, UnstartableError } from '../../activities/pods.ts'
import { type AgentPod, type ContainerSpec, readPod } from './agent-pod.ts'
import { commandIn, type Namespaces, outsideOf, writeEnterScript } from './container-root.ts'
import { containerEnv, expand, type KeySources, keySourcesOf, MissingValueError } from './container-env.ts'
import { ContainerProcessRun, type RunStart } from './container-run.ts'
import { type ContainerFacts, type EndReason, hasOtherImage, type PodFacts } from './decide.ts'
import type { ContainerFolder, PodFolder, PodRecord } from './pod-folder.ts'
import type { PodRun } from './pod-keeper.ts'
import { bootId, textOf } from './processes.ts'
import { dataOf } from './volume-files.ts'
import { linkMounts, Volumes, type VolumeDeps } from './volumes.ts'

export interface ProcessPodDeps {
  readonly wing: string
  readonly pods: OpenPods
  readonly kube: Pick<KubeClient, 'request'>
  readonly folder: PodFolder
  readonly hostIP: string
  readonly podIP: string
  readonly objects: VolumeDeps['objects']
  readonly claimFolder: VolumeDeps['claimFolder']
  /** Undefined: this machine permits none. */
  readonly namespaces: Namespaces | undefined
  /** Called after a change. */
  readonly onChange: () => void
  readonly now: () => number
}

const LOOK_EVERY_MS = 1000
const STARTING_LOOK_MS = 20

export class ProcessPod implements PodRun {
  readonly waiting: Record<string, { readonly reason: string; readonly message: string }> = {}
  private readonly deps: ProcessPodDeps
  private readonly stop = new AbortController()
  private readonly volumes: Volumes
  private record: PodRecord | undefined
  private isRecordRead = false
  private containers: ReadonlyMap<string, ContainerProcessRun> | undefined
  private pod: AgentPod
  private areVolumesDue = true
  private hasProcess = false
  private isStarting = false

  constructor(pod: AgentPod, deps: ProcessPodDeps) {
    this.pod = pod
    this.deps = deps
    const { kube, pods, objects, folder, hostIP, podIP, claimFolder, now } = deps
    this.volumes = new Volumes({
      kube,
      objects,
      folder,
      claimFolder,
      now,
      addresses: { hostIP, podIP },
      allowsHostPaths: pods.allowsHostPaths === true,
      skipsVolumes: pods.skipsVolumes === true,
      onChange: () => this.volumesChanged(),
      signal: this.stop.signal,
    })
  }

  get lookEveryMs(): number | undefined {
    if (!this.hasProcess) return undefined
    if (this.isStarting) return STARTING_LOOK_MS
    return Math.min(LOOK_EVERY_MS, ...[...(this.containers?.values() ?? [])].flatMap(({ periodMs }) => periodMs ?? []))
  }

  /** Files of fields follow the pod. */
  update(pod: AgentPod): void {
    this.pod = pod
    if (pod.volumes.some((one) => one.is === 'files' && one.sources.some((source) => source.downwardAPI !== undefined)))
      this.areVolumesDue = true
  }

  private volumesChanged(): void {
    this.areVolumesDue = true
    this.deps.onChange()
  }

  async look(nowMs: number): Promise<PodFacts> {
    const record = await this.readRecord()
    if (record === undefined) return { acceptedMs: undefined, ending: undefined, containers: {} }
    const isRebooted = record.bootId !== (await bootId())
    const found: Record<string, ContainerFacts> = {}
    for (const [name, container] of this.containersOf(record)) found[name] = await container.look(isRebooted, nowMs)
    this.isStarting = Object.values(found).some(({ run }) => run.state === 'starting')
    this.hasProcess = this.isStarting || Object.values(found).some(({ run }) => run.state === 'running')
    if (this.hasProcess && record.ending === undefined) await this.followVolumes(nowMs)
    return { acceptedMs: record.acceptedMs, ending: record.ending, containers: found }
  }

  /** Updates the files of running containers; a missing object changes nothing, as in the kubelet. */
  private async followVolumes(nowMs: number): Promise<void> {
    if (!this.areVolumesDue && nowMs < (this.volumes.renewMs ?? Infinity)) return
    this.areVolumesDue = false
    await this.volumes.sync(this.pod).catch((error: unknown) => {
      if (!(error instanceof MissingValueError)) this.areVolumesDue = true
    })
  }

  async accept(pod: AgentPod, nowMs: number): Promise<void> {
    const { wing, podIP, folder } = this.deps
    const record = { version: 2 as const, wing, pod: pod.object, acceptedMs: nowMs, bootId: await bootId(), podIP }
    await folder.write(record)
    this.record = record
  }

  async start(name: string, facts: ContainerFacts): Promise<void> {
    const container = this.containersOf(this.recorded()).get(name)
    const spec = this.specOf(name)
    if (container === undefined || spec === undefined) throw new Error(`container "${name}" is not in the pod`)
    const { run, restarts } = facts
    const crashes = run.state === 'ended' && !hasOtherImage(run, spec.image) ? facts.crashes : 0
    // A later agent must not restart the container because of the image that the pod had before.
    if (run.state === 'ended' && hasOtherImage(run, spec.image))
      await this.write({ ...this.recorded(), pod: this.pod.object })
    try {
      // The first start needs the volumes; later ones are covered by `followVolumes`.
      if (this.areVolumesDue) await this.volumes.sync(this.pod)
      this.areVolumesDue = false
      const start = await this.prepare(spec, run.state === 'ended' ? restarts + 1 : restarts)
      Reflect.deleteProperty(this.waiting, name)
      await container.start(start, spec.image, crashes)
    } catch (error) {
      if (error instanceof UnstartableError) {
        await container.start({ unstartable: error.message }, spec.image, crashes)
        return
      }
      const reason = error instanceof MissingValueError ? 'CreateContainerConfigError' : 'ContainerCreating'
      this.waiting[name] = { reason, message: textOf(error) }
      throw error
    }
  }

  /** The container in the current pod, whose image may have changed. */
  private specOf(name: string): ContainerSpec | undefined {
    return [...this.pod.init, ...this.pod.containers].find((spec) => spec.name === name)
  }

  private async prepare(spec: ContainerSpec, restarts: number): Promise<RunStart> {
    const container = await this.containerOf(spec, restarts)
    const { argv, env, cwd, files = {}, image = {}, unpackedImage } = await this.deps.pods.process(container)
    const { root, mounts } = container
    if (this.deps.pods.fileSystem === 'container') {
      const { enterScript: script } = this.deps.folder.container(spec.name)
      await writeEnterScript({ namespaces: this.namespaces, root, script, mounts, image, unpackedImage })
      return { argv: commandIn(argv, { namespaces: this.namespaces, script, cwd: cwd ?? '/' }), env, cwd: root, files }
    }
    await linkMounts(root, mounts, image)
    return { argv, env, cwd: cwd ?? root, files }
  }

  private get namespaces(): Namespaces {
    const { namespaces } = this.deps
    if (namespaces !== undefined) return namespaces
    throw new UnstartableError('the pod needs a file system, but this machine permits no mount namespaces')
  }

  private async containerOf(spec: ContainerSpec, restarts: number): Promise<PodContainer> {
    const { folder, hostIP, podIP } = this.deps
    const pod = this.pod
    const files = folder.container(spec.name)
    const mounts = await this.volumes.mountsOf(pod, spec)
    const env = containerEnv(spec, { pod, hostIP, podIP }, await this.keySources(spec))
    const outside = (path: string) => outsideOf(path, files.root, mounts)
    return {
      pod: pod.object,
      name: spec.name,
      image: spec.image,
      isInit: spec.isInit,
      command: spec.command.map((word) => expand(word, env)),
      args: spec.args.map((word) => expand(word, env)),
      env,
      workingDir: spec.workingDir,
      podIP,
      hostIP,
      restarts,
      root: files.root,
      outside,
      terminationLog: files.terminationLog,
      mounts,
      spec: spec.raw,
    }
  }

  private async keySources(spec: ContainerSpec): Promise<KeySources> {
    const found = await Promise.all(
      keySourcesOf(spec).map(async (source) => {
        const [kind = '', name = ''] = source.split('/')
        const plural = kind === 'secret' ? 'secrets' : 'configmaps'
        const path = resourcePath({ apiVersion: 'v1', plural }, this.pod.namespace, name)
        try {
          const object = await this.deps.kube.request<Parameters<typeof dataOf>[0]>('GET', path)
          const data = dataOf({ ...object, kind: kind === 'secret' ? 'Secret' : 'ConfigMap' })
          return [source, Object.fromEntries(Object.entries(data).map(([key, value]) => [key, value.toString()]))]
        } catch (error) {
          if (isNotFound(error)) return [source, undefined]
          throw error
        }
      }),
    )
    return Object.fromEntries(found) as KeySources
  }

  async terminate(why: EndReason, graceMs: number, nowMs: number, name?: string): Promise<void> {
    const record = this.recorded()
    const containers = this.containersOf(record)
    if (name !== undefined) return await containers.get(name)?.terminate(why, graceMs, nowMs)
    await this.write({ ...record, ending: { why, sinceMs: nowMs, graceMs, isKilled: false } })
    for (const container of containers.values()) await container.terminate(why, graceMs, nowMs)
  }

  async kill(name?: string): Promise<void> {
    const record = this.recorded()
    const containers = this.containersOf(record)
    if (name !== undefined) return await containers.get(name)?.kill()
    if (record.ending !== undefined) await this.write({ ...record, ending: { ...record.ending, isKilled: true } })
    for (const container of containers.values()) await container.kill()
  }

  async sweep(facts: PodFacts): Promise<void> {
    const { pods, folder } = this.deps
    const record = await this.readRecord()
    for (const [name, container] of record === undefined ? [] : this.containersOf(record)) {
      const env = await container.env()
      const run = facts.containers[name]?.run
      if (env === undefined || run?.state !== 'ended') continue
      const exitCode = run.exit.how === 'exited' ? run.exit.code : undefined
      if (run.exit.how !== 'unstarted') await pods.cleanUp?.({ name, env, root: folder.container(name).root, exitCode })
    }
    this.stop.abort()
    await folder.remove()
  }

  /** The containers for `OpenPods.conditions`. */
  async states(facts: PodFacts): Promise<Readonly<Record<string, ContainerState>>> {
    const found: Record<string, ContainerState> = {}
    for (const [name, container] of this.containers ?? []) {
      const run = facts.containers[name]?.run
      const message = run?.state === 'running' || run?.state === 'ended' ? run.message : undefined
      found[name] = { env: await container.env(), message }
    }
    return found
  }

  /** Stops watching objects; processes continue. */
  close(): void {
    this.stop.abort()
  }

  private containersOf(record: PodRecord): ReadonlyMap<string, ContainerProcessRun> {
    if (this.containers === undefined) {
      const pod = readPod(record.pod)
      this.containers = new Map(
        [...pod.init, ...pod.containers].map((spec) => [spec.name, this.makeContainer(spec)] as const),
      )
    }
    return this.containers
  }

  private makeContainer(spec: ContainerSpec): ContainerProcessRun {
    const { folder, podIP, pods, onChange } = this.deps
    const files = folder.container(spec.name)
    return new ContainerProcessRun(spec, {
      folder: files,
      podUid: this.pod.uid,
      podIP,
      probeCommand: (command) => this.probeCommand(command, spec, files),
      whileRunning: (ended) => {
        if (pods.whileRunning === undefined) return
        const { whileRunning } = pods
        // A container that cannot be described any more, for example without its ConfigMap, is not followed.
        void this.containerOf(this.specOf(spec.name) ?? spec, 0).then(
          (one) => whileRunning(one, ended),
          () => undefined,
        )
      },
      onChange,
    })
  }

  private probeCommand(command: readonly string[], spec: ContainerSpec, folder: ContainerFolder): readonly string[] {
    const { pods } = this.deps
    const outside = (path: string) => join(folder.root, path)
    const words = pods.probeCommand?.(command, { name: spec.name, outside }) ?? command
    if (pods.fileSystem !== 'container') return words
    return commandIn(words, { namespaces: this.namespaces, script: folder.enterScript, cwd: '/' })
  }

  private async readRecord(): Promise<PodRecord | undefined> {
    if (!this.isRecordRead) this.record = await this.deps.folder.read()
    this.isRecordRead = true
    return this.record
  }

  private recorded(): PodRecord {
    if (this.record === undefined) throw new Error(`${this.deps.folder.path}: found no record of a pod; expected one`)
    return this.record
  }

  private async write(record: PodRecord): Promise<void> {
    await this.deps.folder.write(record)
    this.record = record
  }
}
