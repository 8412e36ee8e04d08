// What the process of a chaos pod is started with where there is no container: its arguments and variables, with the paths of this machine for those of
// the container's file system. Source: spec/chaos.md 2.5.

import type { InjectorKindName } from '../contract.ts'

export interface EnvVar {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: { readonly fieldRef?: { readonly fieldPath: string } }
}

/** A path of the container, and the path of the machine that is mounted there. */
export interface Mount {
  readonly path: string
  readonly hostPath: string
}

/** The fields of the pod that a variable may be taken from, by their paths. */
export type PodFields = Readonly<Record<string, string>>

/** @throws with the variable when it is taken from something else. */
export function containerVariables(env: readonly EnvVar[], fields: PodFields): Readonly<Record<string, string>> {
  return Object.fromEntries(
    env.map(({ name, value, valueFrom }) => {
      if (valueFrom === undefined) return [name, value ?? '']
      const path = valueFrom.fieldRef?.fieldPath
      const found = path === undefined ? undefined : fields[path]
      if (found !== undefined) return [name, found]
      throw new Error(
        `env ${name}: found ${path ?? Object.keys(valueFrom).join(', ')}, expected one of ${Object.keys(fields).join(', ')}`,
      )
    }),
  )
}

/** The path of the machine; one that lies in no mount stays. */
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

/** Whether they ask for the node itself to be disturbed. */
export function isOfNode(args: readonly string[]): boolean {
  return args.some((arg, index) => arg === '--level=node' || (arg === 'node' && args[index - 1] === '--level'))
}

/** Whether they disturb processes of the target: what replaces a pod works through the API server alone. */
export function needsProcess([kind]: readonly string[]): boolean {
  return kind !== ('pod-replacement' satisfies InjectorKindName)
}

/** The numbers of an annotation such as `{"app": 1234}`. @throws with what was found. */
export function readProcesses(annotation: string): Readonly<Record<string, number>> {
  const found = parse(annotation)
  const isProcess = (pid: unknown) => typeof pid === 'number' && Number.isSafeInteger(pid) && pid > 1
  const isMap = typeof found === 'object' && found !== null && !Array.isArray(found)
  if (isMap && Object.values(found).every(isProcess)) return found as Readonly<Record<string, number>>
  throw new Error(
    `found ${annotation.slice(0, 100)}, expected numbers of processes by names of containers, such as {"app": 1234}`,
  )
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The file of a readiness probe `test -f FILE`, which is all that chaos pods have. @throws with the command of another one. */
export function probedFile(command: readonly string[]): string {
  const [program, flag, file, ...more] = command
  if (program === 'test' && (flag === '-f' || flag === '-e') && file !== undefined && more.length === 0) return file
  throw new Error(`readinessProbe: found ${JSON.stringify(command)}, expected ["test","-f",FILE]`)
}
