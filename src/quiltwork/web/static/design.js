import { start } from "./own.js";

start("/api/explore/design", { numbers: ["strength", "badge", "epsilon", "delta"], sliders: ["strength", "badge"], file: "world" });
