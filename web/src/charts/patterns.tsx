// Patterns that tell the parts apart without colour; "-s" are the small bars'.

function Stripes({ id, step, width }: { id: string; step: number; width: number }) {
  return (
    <pattern id={id} width={step} height={step} patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
      <path d={`M0 0V${step}`} stroke="var(--pat)" stroke-width={width} stroke-opacity="var(--pat-o)" />
    </pattern>
  );
}

export const Patterns = () => (
  <svg class="defs" width="0" height="0" aria-hidden="true">
    <defs>
      <pattern id="p-weights" width="8" height="8" patternUnits="userSpaceOnUse" />
      <pattern id="p-weights-s" width="8" height="8" patternUnits="userSpaceOnUse" />
      <Stripes id="p-kv_cache" step={7} width={2.4} />
      <Stripes id="p-kv_cache-s" step={5} width={1.8} />
      <pattern id="p-activations" width="6" height="6" patternUnits="userSpaceOnUse">
        <circle cx="2" cy="2" r="1.3" fill="var(--pat)" fill-opacity=".75" />
        <circle cx="5" cy="5" r="1.3" fill="var(--pat)" fill-opacity=".75" />
      </pattern>
      <pattern id="p-activations-s" width="4" height="4" patternUnits="userSpaceOnUse">
        <circle cx="2" cy="2" r="1" fill="var(--pat)" fill-opacity=".75" />
      </pattern>
      <pattern id="p-runtime" width="6" height="4" patternUnits="userSpaceOnUse">
        <path d="M0 1H6" stroke="var(--pat)" stroke-width="1.2" stroke-opacity=".6" />
      </pattern>
      <pattern id="p-runtime-s" width="4" height="3" patternUnits="userSpaceOnUse">
        <path d="M0 1H4" stroke="var(--pat)" stroke-width="1" stroke-opacity=".6" />
      </pattern>
      <pattern id="p-over" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)">
        <rect width="6" height="6" fill="var(--surface)" fill-opacity=".55" />
        <path d="M0 0V6" stroke="var(--v)" stroke-width="2.2" />
      </pattern>
      <pattern id="p-beyond" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)">
        <path d="M0 0V7" stroke="var(--no)" stroke-width="1.6" stroke-opacity=".8" />
      </pattern>
      <pattern id="p-out" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <path d="M0 0V6" stroke="var(--edge)" stroke-opacity=".45" />
      </pattern>
    </defs>
  </svg>
);
