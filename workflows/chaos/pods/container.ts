// Converts the arguments of a container to arguments of a process without a container: paths of the machine replace paths in
// the container. Source: spec/chaos.md 2.5.

import type { InjectorKindName } from '../contract.ts'

/** A path in the container and the mounted path of the machine. */
export interface Mount {
  readonly path: string
  readonly hostPath: string
}

/** The path on the machine; unchanged if it is in no mount. */
export function pathOutside(path: string, mounts: readonly Mount[]): string {
  const around = mounts.filter((mount) => isInside(path, mount.path))
  const [inner] = around.sort((one, other) => other.path.length - one.path.length)
  if (inner === undefined) return path
  return `${inner.hostPath.replace(/\/$/, '')}${path.slice(inner.path.replace(/\/$/, '').length)}` || '/'
}

function isInside(path: string, folder: string): boolean {
  const name = folder.replace(/\/$/, '')
  return name !== '' && (path === name || path.startsWith(`${name}/`))
}

/** The arguments with paths of the machine. */
export function argumentsOutside(args: readonly string[], mounts: readonly Mount[]): readonly string[] {
  return args.map((arg) => {
    const [, flag, value] = /^(--[a-z-]+=)(.*)$/s.exec(arg) ?? []
    return flag === undefined ? pathOutside(arg, mounts) : `${flag}${pathOutside(value ?? '', mounts)}`
  })
}

/** Whether the arguments request the level node. */
export function isOfNode(args: readonly string[]): boolean {
  return args.some((arg, index) => arg === '--level=node' || (arg === 'node' && args[index - 1] === '--level'))
}

/** Whether the kind disturbs processes of the target; pod replacement only uses the API server. */
export function needsProcess([kind]: readonly string[]): boolean {
  return kind !== ('pod-replacement' satisfies InjectorKindName)
}

/** Parses the PIDs of an annotation such as `{"app": 1234}`. @throws with the invalid text. */
export function readProcesses(annotation: string): Readonly<Record<string, number>> {
  const found = parse(annotation)
  const isProcess = (pid: unknown) => typeof pid === 'number' && Number.isSafeInteger(pid) && pid > 1
  const isMap = typeof found === 'object' && found !== null && !Array.isArray(found)
  if (isMap && Object.values(found).every(isProcess)) return found as Readonly<Record<string, number>>
  throw new Error(
    `found ${annotation.slice(0, 100)}; expected numbers of processes by names of containers, such as {"app": 1234}`,
  )
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The file of a readiness probe `test -f FILE`, the only form in chaos pods. @throws with any other command. */
export function probedFile(command: readonly string[]): string {
  const [program, flag, file, ...more] = command
  if (program === 'test' && (flag === '-f' || flag === '-e') && file !== undefined && more.length === 0) return file
  throw new Error(`readinessProbe: found ${JSON.stringify(command)}; expected ["test","-f",FILE]`)
}
