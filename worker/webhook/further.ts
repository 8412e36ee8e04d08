// Opens the modules of further rules, each once, and asks them.
//
//   F1. What is wrong with such a rule, or takes longer than the API server waits, lets the object pass: a job tells what is wrong with it.

import type { Admission, FurtherRequest, FurtherRules, FurtherRulesModule, Problem } from '../../workflows/kit/index.ts'
import type { Logger } from '../server/log.ts'

/** What there is to ask of one kind. */
export type AskFurther = (
  admission: Admission,
  request: Omit<FurtherRequest, 'kind' | 'signal'>,
) => Promise<readonly Problem[]>

export interface OpenFurther {
  readonly ask: AskFurther
  readonly close: () => Promise<void>
}

/** @param limitMs for one answer. @throws what keeps a module from being loaded. */
export async function openFurther(
  admissions: readonly Admission[],
  { limitMs, log }: { readonly limitMs: number; readonly log: Logger },
): Promise<OpenFurther> {
  const opened = new Map<FurtherRulesModule, FurtherRules>()
  const byAdmission = new Map<Admission, FurtherRules>()
  for (const admission of admissions) {
    const module = await admission.further?.()
    if (module === undefined) continue
    const rules = opened.get(module) ?? module.openFurtherRules()
    opened.set(module, rules)
    byAdmission.set(admission, rules)
  }
  return {
    async ask(admission, request) {
      const rules = byAdmission.get(admission)
      if (rules === undefined) return []
      const signal = AbortSignal.timeout(limitMs)
      try {
        return await rules.validate({ ...request, kind: admission.kind, signal })
      } catch (error) {
        // Without the object: it may hold secrets.
        log.warn({ err: error, kind: admission.kind.kind }, 'further rules could not be asked; the object passes')
        return []
      }
    },
    close: async () => {
      await Promise.all([...opened.values()].map((rules) => rules.close()))
    },
  }
}
