// Opens the modules with further admission rules, each once, and calls them.
//
//   F1. If such a rule throws or takes longer than the timeout, the object is allowed unchanged. The job reports the
//       problem later.
//   F2. The rules can read with the webhook's ServiceAccount and cannot write.

import type {
  Admission,
  AdmissionRequest,
  FieldChange,
  FlagTable,
  FlagValues,
  AsyncRulesContext,
  AsyncRequest,
  AsyncRules,
  AsyncRulesModule,
  ObjectReader,
  Problem,
} from '../../workflows/kit/index.ts'
import type { KubeClient } from '../../activities/kube/client.ts'
import { isNotFound } from '../../activities/kube/errors.ts'
import type { Logger } from '../server/log.ts'

export interface FurtherAnswer {
  readonly problems: readonly Problem[]
  readonly warnings: readonly string[]
}

/** Validates one object. @param part `metadata` calls the rules about metadata in place of those about the spec. */
export type ValidateFurther = (
  admission: Admission,
  request: Omit<AsyncRequest, 'kind' | 'signal'>,
  part?: 'metadata',
) => Promise<FurtherAnswer>

/** The changes of a mutation that has no `mutate` function of its own. */
export type MutateFurther = (
  admission: Admission,
  mutation: string,
  request: AdmissionRequest,
) => readonly FieldChange[]

export interface OpenFurtherRules {
  readonly validate: ValidateFurther
  readonly mutate: MutateFurther
  readonly close: () => Promise<void>
}

/** The rules of one wing and the values of its flags. */
export interface WingRules {
  readonly admissions: readonly Admission[]
  readonly flags: FlagValues<FlagTable>
}

export interface FurtherOptions {
  readonly kube: Pick<KubeClient, 'request'>
  /** Timeout of one call. */
  readonly limitMs: number
  readonly log: Logger
  readonly metrics?: NonNullable<AsyncRulesContext['metrics']>
  readonly nodeName?: string
}

const NOTHING: FurtherAnswer = { problems: [], warnings: [] }

/** @throws the error with which a module fails to load. */
export async function openAsyncRules(
  wings: readonly WingRules[],
  { kube, limitMs, log, metrics, nodeName }: FurtherOptions,
): Promise<OpenFurtherRules> {
  const opened = new Map<AsyncRulesModule, AsyncRules>()
  const byAdmission = new Map<Admission, AsyncRules>()
  const warn: AsyncRulesContext['warn'] = (details, message) => log.warn(details, message)
  const surroundings = { ...(metrics !== undefined && { metrics }), ...(nodeName !== undefined && { nodeName }) }
  const context = { kube: readerOf(kube), warn, ...surroundings }
  for (const { admissions, flags } of wings) {
    for (const admission of admissions) {
      const module = await admission.asyncRules?.()
      if (module === undefined) continue
      const rules = opened.get(module) ?? module.openAsyncRules({ ...context, flags })
      opened.set(module, rules)
      byAdmission.set(admission, rules)
    }
  }
  return {
    async validate(admission, request, part) {
      const rules = byAdmission.get(admission)
      if (rules === undefined) return NOTHING
      const furtherRequest = { ...request, kind: admission.kind, signal: AbortSignal.timeout(limitMs) }
      try {
        if (part === 'metadata') return { problems: (await rules.metadata?.(furtherRequest)) ?? [], warnings: [] }
        const problems = await rules.validate(furtherRequest)
        const warnings = problems.length > 0 || rules.warnings === undefined ? [] : await rules.warnings(furtherRequest)
        return { problems, warnings }
      } catch (error) {
        log.warn(
          { err: error, ...fieldsOf(admission, request) },
          'further rules failed; the webhook accepts the object without them',
        )
        return NOTHING
      }
    },
    mutate(admission, mutation, request) {
      try {
        return byAdmission.get(admission)?.mutate?.(mutation, { ...request, kind: admission.kind }) ?? []
      } catch (error) {
        log.warn(
          { err: error, ...fieldsOf(admission, request), mutation },
          'a mutation failed; the object is not mutated',
        )
        return []
      }
    },
    close: async () => {
      await Promise.all([...opened.values()].map((rules) => rules.close()))
    },
  }
}

/** F2 */
function readerOf(kube: Pick<KubeClient, 'request'>): ObjectReader {
  return {
    async get<Read extends object>(path: string, { query, signal }: Parameters<ObjectReader['get']>[1] = {}) {
      try {
        return await kube.request<Read>('GET', path, {
          ...(query !== undefined && { query }),
          ...(signal !== undefined && { signal }),
        })
      } catch (error) {
        if (isNotFound(error)) return undefined
        throw error
      }
    },
  }
}

/** Without the object itself, which may contain secrets. */
function fieldsOf({ kind: { kind } }: Admission, { object }: { readonly object: object }) {
  const { metadata: { namespace, name } = {} } = object as { readonly metadata?: Partial<Record<string, unknown>> }
  return { kind, namespace, name }
}
