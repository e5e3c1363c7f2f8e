export { Fragment, h, render } from "preact";
export { useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
export { html } from "htm/preact";
